#pragma once
// The wire format `tool`. Internal to parser.cpp.
#include <string_view>

#include "forecast/parser.h"

namespace kc {

ParsedForecast parse_tool(std::string_view text, Completion completion, ParseRules rules);

}  // namespace kc
