#pragma once
// What a forecaster says, and every way in which a text fails to say it.
#include <array>
#include <string>
#include <string_view>

#include "base/expected.h"
#include "forecast/bins.h"

namespace kc {

// Why a completion is or is not a forecast; counted by value in every metric.
enum class ParseOutcome {
  ok,
  no_call,          // stopped without a call / without a bin
  two_calls,        // more than one call
  bad_json,         // the arguments are not JSON
  missing_field,    // a probability or the bin is absent
  wrong_type,       // a string where a number belongs, a bin token where a probability belongs
  out_of_range,     // a probability outside [0, 1], a bin outside 1..8
  all_zero,         // the probabilities sum to zero
  empty_reasoning,  // `tool` only
  no_stop,          // ended otherwise than by a stop token
  truncated,        // ran into the limit of new tokens
};
inline constexpr int kParseOutcomes = 11;
std::string_view name_of(ParseOutcome outcome);

struct Forecast {
  Probabilities p = uniform_probabilities();  // renormalised
  Bin predicted_bin = 0;                      // as stated; need not be an argmax of p
  double raw_sum = 1.0;                       // of the stated probabilities before renormalising
  std::string reasoning;
};

struct ParseFailure {
  ParseOutcome outcome = ParseOutcome::no_call;
  std::string detail;
};

using ParsedForecast = Expected<Forecast, ParseFailure>;

}  // namespace kc
