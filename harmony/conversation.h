#pragma once
// What a Harmony conversation is made of (gpt-oss's chat format; docs/harmony.md). Torch-free.
#include <string>
#include <vector>

namespace kc {

enum class HarmonyRole { system, developer, user, assistant, tool };
std::string name_of(HarmonyRole role);

enum class ReasoningEffort { low, medium, high };
ReasoningEffort reasoning_effort_of(const std::string& name);  // Error{config} when unknown
std::string name_of(ReasoningEffort effort);

// Channels of the assistant.
inline constexpr const char* kAnalysisChannel = "analysis";      // reasoning
inline constexpr const char* kCommentaryChannel = "commentary";  // calls of functions
inline constexpr const char* kFinalChannel = "final";            // the answer
inline constexpr const char* kJsonContent = "<|constrain|>json";

struct HarmonyMessage {
  HarmonyRole role = HarmonyRole::user;
  std::string name = {};          // of a user or assistant, optional; a tool's full name ("functions.f")
  std::string recipient = {};     // "functions.f" makes an assistant's message a call; empty: everyone
  std::string channel = {};       // empty: none
  std::string content_type = {};  // "<|constrain|>json", "code"; empty: none
  std::string content = {};       // bytes: what a model wrote need not be UTF-8

  bool operator==(const HarmonyMessage&) const = default;
};

struct ToolDefinition {
  std::string name;
  std::string description;
  std::string parameters = {};  // JSON Schema as text, keys in the order to be shown; empty: no parameters
};

struct ToolNamespace {
  std::string name = "functions";
  std::string description = {};
  std::vector<ToolDefinition> tools = {};  // empty: the description alone is shown
};  // shown in the order of their names

struct SystemContent {
  std::string model_identity = "You are ChatGPT, a large language model trained by OpenAI.";
  std::string knowledge_cutoff = "2024-06";
  std::string date = {};  // YYYY-MM-DD; empty: no date line
  ReasoningEffort effort = ReasoningEffort::medium;
  std::vector<ToolNamespace> tools = {};  // built-in ones only; functions belong to the developer's message
  std::vector<std::string> channels = {kAnalysisChannel, kCommentaryChannel, kFinalChannel};
  bool has_functions = false;  // the conversation defines functions
};

struct DeveloperContent {
  std::string instructions = {};
  std::vector<ToolNamespace> tools = {};
};

// Error{bad_data} names the tool whose parameters are not a JSON object.
HarmonyMessage system_message(const SystemContent& content);
HarmonyMessage developer_message(const DeveloperContent& content);
HarmonyMessage user_message(std::string text);
HarmonyMessage assistant_message(std::string channel, std::string text);
HarmonyMessage function_call(const std::string& function, std::string json_arguments);
HarmonyMessage function_result(const std::string& function, std::string text);

}  // namespace kc
