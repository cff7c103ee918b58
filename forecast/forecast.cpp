#include "forecast/forecast.h"

namespace kc {

std::string_view name_of(ParseOutcome outcome) {
  switch (outcome) {
    case ParseOutcome::ok:
      return "ok";
    case ParseOutcome::no_call:
      return "no_call";
    case ParseOutcome::two_calls:
      return "two_calls";
    case ParseOutcome::bad_json:
      return "bad_json";
    case ParseOutcome::missing_field:
      return "missing_field";
    case ParseOutcome::wrong_type:
      return "wrong_type";
    case ParseOutcome::out_of_range:
      return "out_of_range";
    case ParseOutcome::all_zero:
      return "all_zero";
    case ParseOutcome::empty_reasoning:
      return "empty_reasoning";
    case ParseOutcome::no_stop:
      return "no_stop";
    case ParseOutcome::truncated:
      return "truncated";
  }
  return "?";
}

}  // namespace kc
