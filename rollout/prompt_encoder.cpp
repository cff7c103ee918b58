#include "rollout/prompt_encoder.h"

#include <algorithm>

#include "base/error.h"

namespace kc {

std::vector<std::string> reserved_pieces() {
  std::vector<std::string> pieces{std::string(kPadPiece), std::string(kAnswerPiece), std::string(kStopPiece)};
  for (Bin bin = 1; bin <= kBins; ++bin) pieces.push_back(bin_piece(bin));
  for (int step = 0; step < kProbabilitySteps; ++step) pieces.push_back(probability_piece(step));
  return pieces;
}

PromptFormat read_prompt_format(Config& config) {
  ConfigSection s = config.section("prompt");
  PromptFormat format;
  format.template_file = s.text("template", "configs/prompts/default.txt", {.meaning = "template file of the prompts"});
  format.style = prompt_style_of(
      s.choice("style", "diff", {"full", "diff"},
               {.meaning = "full: both sources; diff: the lines that differ, or the tunables of one template"}));
  format.wire = wire_format_of(
      s.choice("wire", "compact", {"direct", "compact", "tool"},
               {.meaning = "wire format of sampled answers: direct, compact (bin, then probabilities) or tool"}));
  format.max_tokens = s.integer("max_tokens", format.max_tokens,
                                {.meaning = "longer prompts are cut in the middle of the two kernel blocks",
                                 .unit = "tokens",
                                 .min = 8,
                                 .max = 131072});
  format.max_new_tokens =
      s.integer("max_new_tokens", format.max_new_tokens,
                {.meaning = "limit of a completion in the tool wire", .unit = "tokens", .min = 1, .max = 131072});
  return format;
}

PromptEncoder::PromptEncoder(PromptFormat format, std::shared_ptr<const Tokenizer> tokenizer)
    : format_(std::move(format)),
      template_(PromptTemplate::load(format_.template_file)),
      tokenizer_(std::move(tokenizer)),
      answer_token_(tokenizer_->id_of(kAnswerPiece)),
      stop_token_(tokenizer_->id_of(kStopPiece)) {
  for (Bin bin = 1; bin <= kBins; ++bin) bin_tokens_.push_back(tokenizer_->id_of(bin_piece(bin)));
  for (int step = 0; step < kProbabilitySteps; ++step) {
    probability_tokens_.push_back(tokenizer_->id_of(probability_piece(step)));
  }
}

std::vector<TokenId> cut_in_the_middles(const std::vector<TokenId>& ids, std::int64_t limit) {
  const auto size = static_cast<std::int64_t>(ids.size());
  if (size <= limit) return ids;
  const std::int64_t half = size / 2;
  const std::int64_t keep_first = limit / 2;
  const std::int64_t keep_second = limit - keep_first;
  std::vector<TokenId> kept;
  kept.reserve(static_cast<std::size_t>(limit));
  const auto append = [&](std::int64_t begin, std::int64_t end) {
    kept.insert(kept.end(), ids.begin() + begin, ids.begin() + end);
  };
  const auto append_ends = [&](std::int64_t begin, std::int64_t end, std::int64_t keep) {
    const std::int64_t head = (keep + 1) / 2;
    append(begin, begin + head);
    append(end - (keep - head), end);
  };
  append_ends(0, half, std::min(keep_first, half));
  append_ends(half, size, std::min(keep_second, size - half));
  return kept;
}

std::vector<TokenId> PromptEncoder::encode(const PromptRequest& request) const {
  const Prompt prompt = template_.render(request, format_.style, format_.wire);
  const std::string text = prompt.system.empty() ? prompt.user : prompt.system + "\n" + prompt.user;
  const std::vector<TokenId> whole = tokenizer_->encode(text, false);
  std::vector<TokenId> ids = cut_in_the_middles(whole, format_.max_tokens - 1);
  if (ids.size() < whole.size()) cut_->fetch_add(1);
  ids.push_back(answer_token_);
  return ids;
}

ParsedForecast PromptEncoder::parse(const Sample& sample) const {
  const Completion completion = sample.stop == StopReason::stop_token ? Completion::stopped : Completion::truncated;
  return parse_forecast(tokenizer_->decode(sample.tokens), completion, format_.wire);
}

SamplingOptions PromptEncoder::sampling(double temperature) const {
  SamplingOptions options;
  options.temperature = temperature;
  options.max_new_tokens = format_.wire == WireFormat::tool ? format_.max_new_tokens : kCompactTokens;
  options.stop_tokens = {stop_token_};
  return options;
}

}  // namespace kc
