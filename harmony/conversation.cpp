#include "harmony/conversation.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "harmony/tool_types.h"

namespace kc {
namespace {

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string comment_lines(const std::string& text) {
  std::string comments;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t newline = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, newline - at);
    if (newline < text.size() && !line.empty() && line.back() == '\r') line.pop_back();
    comments += "// " + line + "\n";
    at = newline + 1;
  }
  return comments;
}

std::string namespace_text(const ToolNamespace& space) {
  std::string text = "## " + space.name + "\n\n";
  if (space.tools.empty()) return text + space.description;
  text += comment_lines(space.description) + "namespace " + space.name + " {\n\n";
  for (const ToolDefinition& tool : space.tools) {
    text += comment_lines(tool.description) + "type " + tool.name + " = " + tool_type(tool) + ";\n\n";
  }
  return text + "} // namespace " + space.name;
}

void add_tools(std::vector<std::string>& sections, std::vector<ToolNamespace> tools) {
  if (tools.empty()) return;
  std::sort(tools.begin(), tools.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  sections.emplace_back("# Tools");
  for (const ToolNamespace& space : tools) sections.push_back(namespace_text(space));
}

std::string identity_text(const SystemContent& content) {
  std::vector<std::string> lines;
  if (!content.model_identity.empty()) lines.push_back(content.model_identity);
  if (!content.knowledge_cutoff.empty()) lines.push_back("Knowledge cutoff: " + content.knowledge_cutoff);
  if (!content.date.empty()) lines.push_back("Current date: " + content.date);
  return joined(lines, "\n");
}

std::string channels_text(const SystemContent& content) {
  std::string text =
      "# Valid channels: " + joined(content.channels, ", ") + ". Channel must be included for every message.";
  if (content.has_functions) text += "\nCalls to these tools must go to the commentary channel: 'functions'.";
  return text;
}

}  // namespace

std::string name_of(HarmonyRole role) {
  switch (role) {
    case HarmonyRole::system:
      return "system";
    case HarmonyRole::developer:
      return "developer";
    case HarmonyRole::user:
      return "user";
    case HarmonyRole::assistant:
      return "assistant";
    case HarmonyRole::tool:
      return "tool";
  }
  return "?";
}

ReasoningEffort reasoning_effort_of(const std::string& name) {
  for (const ReasoningEffort effort : {ReasoningEffort::low, ReasoningEffort::medium, ReasoningEffort::high}) {
    if (name_of(effort) == name) return effort;
  }
  throw Error(ErrorKind::config, fmt::format("unknown reasoning effort '{}': expected low, medium or high", name));
}

std::string name_of(ReasoningEffort effort) {
  switch (effort) {
    case ReasoningEffort::low:
      return "low";
    case ReasoningEffort::medium:
      return "medium";
    case ReasoningEffort::high:
      return "high";
  }
  return "?";
}

HarmonyMessage system_message(const SystemContent& content) {
  std::vector<std::string> sections;
  if (std::string identity = identity_text(content); !identity.empty()) sections.push_back(std::move(identity));
  sections.push_back("Reasoning: " + name_of(content.effort));
  add_tools(sections, content.tools);
  if (!content.channels.empty()) sections.push_back(channels_text(content));
  return {.role = HarmonyRole::system, .content = joined(sections, "\n\n")};
}

HarmonyMessage developer_message(const DeveloperContent& content) {
  std::vector<std::string> sections;
  if (!content.instructions.empty()) {
    sections.emplace_back("# Instructions");
    sections.push_back(content.instructions);
  }
  add_tools(sections, content.tools);
  return {.role = HarmonyRole::developer, .content = joined(sections, "\n\n")};
}

HarmonyMessage user_message(std::string text) { return {.role = HarmonyRole::user, .content = std::move(text)}; }

HarmonyMessage assistant_message(std::string channel, std::string text) {
  return {.role = HarmonyRole::assistant, .channel = std::move(channel), .content = std::move(text)};
}

HarmonyMessage function_call(const std::string& function, std::string json_arguments) {
  return {.role = HarmonyRole::assistant,
          .recipient = "functions." + function,
          .channel = kCommentaryChannel,
          .content_type = kJsonContent,
          .content = std::move(json_arguments)};
}

HarmonyMessage function_result(const std::string& function, std::string text) {
  return {.role = HarmonyRole::tool,
          .name = "functions." + function,
          .recipient = "assistant",
          .channel = kCommentaryChannel,
          .content = std::move(text)};
}

}  // namespace kc
