#pragma once
// The interface through which evaluation, search and programs ask for forecasts. Caching, batching and budgets decorate
// it.
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "forecast/forecast.h"
#include "forecast/prompt.h"

namespace kc {

struct ForecastResult {
  ParsedForecast parsed = Unexpected(ParseFailure{});
  std::int64_t input_tokens = 0;
  std::int64_t output_tokens = 0;
  double elapsed_s = 0;
  double outside_mass = 0;  // `direct`: probability outside the eight answer tokens, before renormalising
};

class Forecaster {
 public:
  virtual ~Forecaster() = default;
  // One result per request, in order; a failure of one item is that item's result. Blocks; throws Error{interrupted}
  // when stopped. Not thread-safe unless an implementation says so.
  virtual std::vector<ForecastResult> forecast(std::span<const PromptRequest> requests, std::stop_token stop) = 0;
  virtual std::string description() const = 0;
};

}  // namespace kc
