#pragma once
// JSON Schema as the TypeScript-like text that Harmony shows a model. Internal to conversation.cpp.
#include <string>

#include "harmony/conversation.h"

namespace kc {

// "(_: TYPE) => any", or "() => any" without parameters. The rules are those of openai-harmony 0.0.8, found by
// rendering schemas with it (docs/harmony.md lists them). Error{bad_data}: the parameters are not a JSON object.
std::string tool_type(const ToolDefinition& tool);

}  // namespace kc
