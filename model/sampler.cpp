#include "model/sampler.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include <fmt/format.h>

#include "base/error.h"
#include "model/cpu_kernels.h"
#include "model/decoder_torch.h"
#include "model/parallel.h"
#include "model/sampler_torch.h"

namespace kc {
namespace {

constexpr std::int64_t kPromptTokens = 16384;                  // read in one pass
constexpr std::int64_t kPromptLogits = std::int64_t{1} << 25;  // numbers that one pass gives: 128 MB

void check_stop(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorKind::interrupted, "sampling stopped");
}

// A pass gives a whole vocabulary of logits for each of its prompts: at most this many, or short prompts would fill
// the memory.
std::int64_t most_prompts(std::int64_t vocabulary) { return std::max<std::int64_t>(1, kPromptLogits / vocabulary); }

struct Drawn {
  TokenId token;
  float logprob;
};

std::int64_t walk(const float* weights, std::int64_t n, double target) {
  double sum = 0;
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    if (!(weights[i] > 0)) continue;
    last = i;
    sum += static_cast<double>(weights[i]);
    if (sum > target) return i;
  }
  return last;  // rounding at the very end of the distribution
}

// `lse` is NaN or infinite when any of the logits that count is.
void require_finite(float lse) {
  if (std::isfinite(lse)) return;
  throw LogitsNotFinite();
}

// temperature 0: the largest logit (the first of equal ones), its logprob at temperature 1.
Drawn draw(const float* logits, std::int64_t n, double temperature, RngStream& rng) {
  const float scale = temperature > 0 ? static_cast<float>(1 / temperature) : 1.0F;
  float* weights = scratch<float, 2>(n);
  float sum = 0;
  const float lse = attention_kernels<float>().exp_row(logits, scale, weights, n, &sum);
  require_finite(lse);
  const std::int64_t token = temperature > 0 ? walk(weights, n, rng.uniform() * static_cast<double>(sum))
                                             : std::max_element(logits, logits + n) - logits;
  return {static_cast<TokenId>(token), logits[token] * scale - lse};
}

// One sequence being written.
struct Row {
  Sample* sample = nullptr;
  RngStream rng = RngStream(std::uint64_t{0});
  std::int64_t position = 0;  // of the token drawn last
  std::int64_t slot = 0;
};

// A request whose prompt has been read and that has samples left to start.
struct OpenRequest {
  std::shared_ptr<const Prefix> prefix;
  std::int64_t prompt = 0;
  std::size_t request = 0;
  std::int64_t next_sample = 0;
};

class Batch {
 public:
  Batch(Decoder& decoder, std::span<const SampleRequest> requests, const SamplingOptions& options)
      : decoder_(decoder), requests_(requests), options_(options) {
    std::int64_t longest = 0;
    std::int64_t total = 0;
    for (const SampleRequest& r : requests) {
      longest = std::max(longest, static_cast<std::int64_t>(r.prompt.size()));
      total += r.count;
      results_.emplace_back(static_cast<std::size_t>(r.count));
    }
    const std::int64_t slots = std::min(options.batch_rows, total);
    decoder_.reserve(slots, longest + options.max_new_tokens);
    for (std::int64_t i = slots - 1; i >= 0; --i) free_.push_back(i);
  }

  std::vector<std::vector<Sample>> run(const std::stop_token& stop) {
    for (;;) {
      check_stop(stop);
      if (rows_.empty() || free_.size() >= rows_.size()) start_rows(stop);
      if (rows_.empty()) return std::move(results_);
      advance();
    }
  }

 private:
  // Reads prompts until their samples would fill the free slots.
  bool read_prompts() {
    std::vector<std::span<const TokenId>> prompts;
    std::int64_t tokens = 0;
    std::int64_t samples = 0;
    const std::size_t first = next_request_;
    while (next_request_ < requests_.size() && samples < static_cast<std::int64_t>(free_.size()) &&
           static_cast<std::int64_t>(prompts.size()) < most_prompts(decoder_.vocabulary())) {
      const SampleRequest& r = requests_[next_request_];
      if (!prompts.empty() && tokens + static_cast<std::int64_t>(r.prompt.size()) > kPromptTokens) break;
      prompts.emplace_back(r.prompt);
      tokens += static_cast<std::int64_t>(r.prompt.size());
      samples += r.count;
      ++next_request_;
    }
    if (prompts.empty()) return false;
    const auto prefix = std::make_shared<const Prefix>(decoder_.read_prompts(prompts));
    for (std::size_t i = 0; i < prompts.size(); ++i)
      open_.push_back({prefix, static_cast<std::int64_t>(i), first + i, 0});
    return true;
  }

  void start_rows(const std::stop_token& stop) {
    while (!free_.empty() && (!open_.empty() || read_prompts())) {
      check_stop(stop);
      OpenRequest& open = open_.front();
      const SampleRequest& request = requests_[open.request];
      if (open.next_sample >= request.count) {
        open_.pop_front();
        continue;
      }
      Row row;
      row.sample = &results_[open.request][static_cast<std::size_t>(open.next_sample)];
      row.rng = request.rng.child(static_cast<std::uint64_t>(open.next_sample++));
      row.position = static_cast<std::int64_t>(request.prompt.size());
      const std::int64_t n = vocabulary(*open.prefix);
      const bool goes_on = extend(row, open.prefix->logits.const_data_ptr<float>() + open.prompt * n, n);
      tell(settled(row, goes_on));
      if (!goes_on) continue;
      row.slot = free_.back();
      free_.pop_back();
      decoder_.fill(row.slot, *open.prefix, open.prompt);
      rows_.push_back(row);
    }
  }

  static std::int64_t vocabulary(const Prefix& prefix) { return prefix.logits.size(1); }

  // Draws the next token; false when the sequence has ended.
  bool extend(Row& row, const float* logits, std::int64_t n) const {
    const Drawn drawn = draw(logits, n, options_.temperature, row.rng);
    row.sample->tokens.push_back(drawn.token);
    row.sample->logprobs.push_back(drawn.logprob);
    const auto& stops = options_.stop_tokens;
    if (std::find(stops.begin(), stops.end(), drawn.token) != stops.end()) {
      row.sample->stop = StopReason::stop_token;
      return false;
    }
    return static_cast<std::int64_t>(row.sample->tokens.size()) < options_.max_new_tokens;
  }

  std::int64_t settled(const Row& row, bool goes_on) const {
    const auto drawn = static_cast<std::int64_t>(row.sample->tokens.size());
    return goes_on ? 1 : options_.max_new_tokens - drawn + 1;
  }

  void tell(std::int64_t tokens) const {
    if (options_.on_settled) options_.on_settled(tokens);
  }

  void advance() {
    Decoder::Step step;
    for (const Row& row : rows_) {
      step.ids.push_back(row.sample->tokens.back());
      step.positions.push_back(row.position);
      step.slots.push_back(row.slot);
    }
    const at::Tensor logits = decoder_.decode(step);
    const std::int64_t n = logits.size(1);
    const float* data = logits.const_data_ptr<float>();
    std::vector<char> goes_on(rows_.size());
    parallel_rows(static_cast<std::int64_t>(rows_.size()), 4, [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t i = from; i < to; ++i) {
        Row& row = rows_[static_cast<std::size_t>(i)];
        ++row.position;
        goes_on[static_cast<std::size_t>(i)] = extend(row, data + i * n, n) ? 1 : 0;
      }
    });
    std::vector<Row> left;
    std::int64_t tokens = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      tokens += settled(rows_[i], goes_on[i] != 0);
      if (goes_on[i])
        left.push_back(rows_[i]);
      else
        free_.push_back(rows_[i].slot);
    }
    rows_ = std::move(left);
    tell(tokens);
  }

  Decoder& decoder_;
  std::span<const SampleRequest> requests_;
  const SamplingOptions& options_;
  std::vector<std::vector<Sample>> results_;
  std::vector<std::int64_t> free_;
  std::deque<OpenRequest> open_;
  std::size_t next_request_ = 0;
  std::vector<Row> rows_;
};

class GptOssSampler final : public Sampler {
 public:
  GptOssSampler(const GptOssConfig& config, const GptOssWeights& weights) : config_(config), weights_(weights) {}

  std::vector<std::vector<Sample>> sample(std::span<const SampleRequest> requests, const SamplingOptions& options,
                                          std::stop_token stop) override {
    if (!(options.temperature >= 0) || options.batch_rows < 1 || options.max_new_tokens < 1)
      throw Error(ErrorKind::usage, "sampling: temperature must be >= 0, batch_rows and max_new_tokens >= 1");
    std::int64_t longest = 0;
    for (const SampleRequest& r : requests) {
      if (r.count < 0) throw Error(ErrorKind::usage, "sampling: count must not be negative");
      longest = std::max(longest, check_prompt(r.prompt));
    }
    Decoder decoder(config_, weights_, longest + options.max_new_tokens);
    return Batch(decoder, requests, options).run(stop);
  }

  std::vector<std::vector<float>> next_token_logprobs(std::span<const std::vector<TokenId>> prompts,
                                                      std::span<const TokenId> tokens, std::stop_token stop) override {
    std::int64_t longest = 0;
    for (const std::vector<TokenId>& p : prompts) longest = std::max(longest, check_prompt(p));
    for (const TokenId token : tokens) check_token(token);
    const Decoder decoder(config_, weights_, longest);
    std::vector<std::vector<float>> results;
    for (std::size_t next = 0; next < prompts.size();) {
      check_stop(stop);
      std::vector<std::span<const TokenId>> group;
      std::size_t size = 0;
      while (next < prompts.size() &&
             (group.empty() || (size + prompts[next].size() <= kPromptTokens &&
                                static_cast<std::int64_t>(group.size()) < most_prompts(config_.vocab_size)))) {
        group.emplace_back(prompts[next]);
        size += prompts[next++].size();
      }
      append_logprobs(decoder.read_prompts(group).logits, tokens, results);
    }
    return results;
  }

 private:
  void check_token(TokenId id) const {
    if (id < 0 || id >= config_.vocab_size)
      throw Error(ErrorKind::bad_data,
                  fmt::format("token {} is outside the model's vocabulary of {}", id, config_.vocab_size));
  }
  std::int64_t check_prompt(const std::vector<TokenId>& prompt) const {
    if (prompt.empty()) throw Error(ErrorKind::bad_data, "sampling: a prompt is empty");
    for (const TokenId id : prompt) check_token(id);
    return static_cast<std::int64_t>(prompt.size());
  }

  static void append_logprobs(const at::Tensor& logits, std::span<const TokenId> tokens,
                              std::vector<std::vector<float>>& results) {
    const std::int64_t n = logits.size(1);
    for (std::int64_t b = 0; b < logits.size(0); ++b) {
      const float* row = logits.const_data_ptr<float>() + b * n;
      float sum = 0;
      const float lse = attention_kernels<float>().exp_row(row, 1.0F, scratch<float, 2>(n), n, &sum);
      require_finite(lse);
      std::vector<float>& out = results.emplace_back();
      for (const TokenId token : tokens) out.push_back(row[token] - lse);
    }
  }

  const GptOssConfig& config_;
  const GptOssWeights& weights_;
};

}  // namespace

LogitsNotFinite::LogitsNotFinite()
    : Error(ErrorKind::bad_data,
            "the model's logits are not finite: its weights are damaged or have diverged (`checkpoint verify` finds "
            "numbers that are not finite)") {}

std::unique_ptr<Sampler> make_gpt_oss_sampler(const GptOssConfig& config, const GptOssWeights& weights) {
  return std::make_unique<GptOssSampler>(config, weights);
}

}  // namespace kc
