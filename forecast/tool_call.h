#pragma once
// The tool of the wire format `tool`: its definition, the call that a forecast makes, and what a call says.
#include <span>
#include <string>
#include <string_view>

#include "forecast/parser.h"

namespace kc {

std::string tool_description();
// JSON Schema of the ten fields, in the order in which they are asked for: bin, probabilities, reasoning.
std::string tool_parameters();

// Arguments of a call as JSON, in that order, probabilities with two decimals in steps of 5 % (they sum to 1): what the
// warm start teaches. `kToolCallHead` is how every one of them begins; the bin's digit follows.
inline constexpr std::string_view kToolCallHead = "{\"predicted_bin\":";
std::string tool_call_json(Bin bin, const Probabilities& p, const std::string& reasoning);

// Calls found in a completion, by their arguments. `cut` and `unended` say how it ended: by the limit of new tokens, or
// by a stop token that ends no message.
enum class CallsEnd { stopped, cut, unended };
ParsedForecast read_tool_calls(std::span<const std::string_view> arguments, CallsEnd end, ParseRules rules);

// A completion as text (rows of other systems, models without Harmony's tokens).
ParsedForecast parse_tool(std::string_view text, Completion completion, ParseRules rules);

}  // namespace kc
