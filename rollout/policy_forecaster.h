#pragma once
// Forecasts by a language model in one of two readings: `direct` (next-token distribution over the answer tokens,
// renormalised) and the sampled wire format.
#include <memory>
#include <span>

#include "forecast/forecaster.h"
#include "rollout/prompt_encoder.h"

namespace kc {

struct ReadingOptions {
  WireFormat reading = WireFormat::direct;
  double temperature = 1.0;  // of the sampled wire format; 0 = greedy
  std::int64_t retries = 0;  // further tries after a parse failure
  bool progress = false;     // shown while answers are sampled
};

// References must outlive the forecaster. Call k draws from rng.child(k), its request i from that stream's child(i).
// A sampled reading other than the encoder's wire format is an Error{config}.
std::unique_ptr<Forecaster> make_policy_forecaster(Sampler& sampler, const PromptEncoder& encoder,
                                                   const ReadingOptions& options, RngStream rng);

// The eight answers' distribution out of their log-probabilities over the whole vocabulary.
struct DirectReading {
  Probabilities p = uniform_probabilities();  // renormalised over the eight
  double inside_mass = 0;                     // their sum before; 0 when there is nothing to renormalise
};
DirectReading read_direct(std::span<const float> bin_logprobs, double temperature = 1.0);

// `direct`: predicted_bin is the argmax, raw_sum the mass inside the eight; all_zero when there is none.
ParsedForecast direct_forecast(const DirectReading& reading);

}  // namespace kc
