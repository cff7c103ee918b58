#include "rollout/policy_forecaster.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/progress.h"

namespace kc {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class PolicyForecaster final : public Forecaster {
 public:
  PolicyForecaster(Sampler& sampler, const PromptEncoder& encoder, const ReadingOptions& options, RngStream rng)
      : sampler_(sampler), encoder_(encoder), options_(options), rng_(rng) {}

  std::vector<ForecastResult> forecast(std::span<const PromptRequest> requests, std::stop_token stop) override {
    const auto start = Clock::now();
    std::vector<std::vector<TokenId>> prompts;
    prompts.reserve(requests.size());
    for (const PromptRequest& request : requests) prompts.push_back(encoder_.encode(request));
    std::vector<ForecastResult> results(requests.size());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      results[i].input_tokens = static_cast<std::int64_t>(prompts[i].size());
    }
    if (options_.reading == WireFormat::direct) {
      read_direct_answers(prompts, results, stop);
    } else {
      sample_answers(prompts, results, stop);
    }
    for (ForecastResult& result : results)
      result.elapsed_s = seconds_since(start) / static_cast<double>(results.size());
    return results;
  }

  std::string description() const override {
    if (options_.reading == WireFormat::direct) return "policy, direct";
    return fmt::format("policy, {}, temperature {}, {} retries", name_of(options_.reading), options_.temperature,
                       options_.retries);
  }

 private:
  void read_direct_answers(const std::vector<std::vector<TokenId>>& prompts, std::vector<ForecastResult>& results,
                           std::stop_token stop) {
    if (prompts.empty()) return;
    std::vector<std::vector<TokenId>> openings;
    openings.reserve(prompts.size());
    for (const std::vector<TokenId>& prompt : prompts) openings.push_back(encoder_.direct_prompt(prompt));
    const auto logprobs = sampler_.next_token_logprobs(openings, encoder_.bin_tokens(), stop);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const DirectReading reading = read_direct(logprobs.at(i));
      results[i].parsed = direct_forecast(reading);
      results[i].output_tokens = 1;
      results[i].outside_mass = std::max(0.0, 1.0 - reading.inside_mass);
    }
  }

  void sample_answers(const std::vector<std::vector<TokenId>>& prompts, std::vector<ForecastResult>& results,
                      std::stop_token stop) {
    const RngStream call = rng_.child(calls_++);
    std::vector<std::size_t> open(prompts.size());
    for (std::size_t i = 0; i < open.size(); ++i) open[i] = i;
    for (std::int64_t attempt = 0; attempt <= options_.retries && !open.empty(); ++attempt) {
      sample_once(prompts, results, {open, call, attempt}, stop);
      std::erase_if(open, [&](std::size_t i) { return results[i].parsed.has_value(); });
    }
  }

  struct Round {
    const std::vector<std::size_t>& open;
    RngStream call;
    std::int64_t attempt;
  };

  void sample_once(const std::vector<std::vector<TokenId>>& prompts, std::vector<ForecastResult>& results,
                   const Round& round, std::stop_token stop) {
    std::vector<SampleRequest> requests;
    for (const std::size_t i : round.open) {
      const auto attempt = static_cast<std::uint64_t>(round.attempt);
      requests.push_back({prompts[i], 1, round.call.child(std::uint64_t{i}).child(attempt)});
    }
    const auto samples = sample(requests, round.attempt, stop);
    for (std::size_t k = 0; k < round.open.size(); ++k) {
      const Sample& sample = samples.at(k).at(0);
      ForecastResult& result = results[round.open[k]];
      result.parsed = encoder_.parse(sample);
      result.output_tokens += static_cast<std::int64_t>(sample.tokens.size());
    }
  }

  std::vector<std::vector<Sample>> sample(const std::vector<SampleRequest>& requests, std::int64_t attempt,
                                          std::stop_token stop) {
    SamplingOptions sampling = encoder_.sampling(options_.temperature);
    if (!options_.progress) return sampler_.sample(requests, sampling, stop);
    Progress progress(attempt == 0 ? "sampling" : "sampling once more what could not be read",
                      static_cast<std::int64_t>(requests.size()) * sampling.max_new_tokens, "tokens at most");
    sampling.on_settled = [&](std::int64_t tokens) { progress.advance(tokens); };
    auto samples = sampler_.sample(requests, sampling, stop);
    progress.finish();
    return samples;
  }

  Sampler& sampler_;
  const PromptEncoder& encoder_;
  ReadingOptions options_;
  RngStream rng_;
  std::uint64_t calls_ = 0;
};

}  // namespace

DirectReading read_direct(std::span<const float> bin_logprobs, double temperature) {
  DirectReading reading;
  const double highest = *std::max_element(bin_logprobs.begin(), bin_logprobs.end());
  if (bin_logprobs.size() != std::size_t{kBins} || !std::isfinite(highest)) return reading;
  double sum = 0;
  for (int b = 0; b < kBins; ++b) {
    const double logprob = bin_logprobs[b];
    reading.inside_mass += std::exp(logprob);
    sum += reading.p[b] = std::exp((logprob - highest) / temperature);
  }
  for (double& p : reading.p) p /= sum;
  return reading;
}

ParsedForecast direct_forecast(const DirectReading& reading) {
  if (!(reading.inside_mass > 0)) {
    return Unexpected(ParseFailure{ParseOutcome::all_zero, "no probability on the eight answers"});
  }
  return Forecast{reading.p, argmax_bin(reading.p), reading.inside_mass, {}};
}

std::unique_ptr<Forecaster> make_policy_forecaster(Sampler& sampler, const PromptEncoder& encoder,
                                                   const ReadingOptions& options, RngStream rng) {
  if (options.reading != WireFormat::direct && options.reading != encoder.wire()) {
    throw Error(ErrorKind::config,
                fmt::format("the reading '{}' differs from the model's wire format '{}': choose that one or 'direct'",
                            name_of(options.reading), name_of(encoder.wire())));
  }
  if (options.temperature < 0 || options.retries < 0) {
    throw Error(ErrorKind::config, "a reading needs temperature >= 0 and retries >= 0");
  }
  return std::make_unique<PolicyForecaster>(sampler, encoder, options, rng);
}

}  // namespace kc
