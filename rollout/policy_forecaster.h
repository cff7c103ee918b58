#pragma once
// Forecasts by a language model in one of two readings: `direct` (next-token distribution over the answer tokens,
// renormalised) and the sampled wire format.
#include <memory>

#include "forecast/forecaster.h"
#include "rollout/prompt_encoder.h"

namespace kc {

struct ReadingOptions {
  WireFormat reading = WireFormat::direct;
  double temperature = 1.0;  // of the sampled wire format; 0 = greedy
  std::int64_t retries = 0;  // further tries after a parse failure
};

// References must outlive the forecaster. Call k draws from rng.child(k).
std::unique_ptr<Forecaster> make_policy_forecaster(Sampler& sampler, const PromptEncoder& encoder,
                                                   const ReadingOptions& options, RngStream rng);

}  // namespace kc
