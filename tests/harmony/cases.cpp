#include "tests/harmony/cases.h"

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"

namespace kc::test {
namespace {

using Json = nlohmann::ordered_json;  // the order of a schema's keys counts

HarmonyRole role_of(const std::string& name) {
  for (const HarmonyRole role :
       {HarmonyRole::system, HarmonyRole::developer, HarmonyRole::user, HarmonyRole::assistant}) {
    if (name_of(role) == name) return role;
  }
  return HarmonyRole::tool;
}

std::vector<ToolNamespace> namespaces(const Json& given) {
  std::vector<ToolNamespace> spaces;
  for (const Json& space : given.value("tools", Json::array())) {
    ToolNamespace result{space.at("name"), space.at("description"), {}};
    for (const Json& tool : space.at("tools")) {
      const Json& parameters = tool.at("parameters");
      result.tools.push_back({tool.at("name"), tool.at("description"), parameters.is_null() ? "" : parameters.dump()});
    }
    spaces.push_back(std::move(result));
  }
  return spaces;
}

HarmonyMessage message_of(const Json& given, bool has_functions) {
  if (given.contains("system")) {
    const Json& system = given.at("system");
    return system_message({.date = system.value("date", ""),
                           .effort = reasoning_effort_of(system.at("effort")),
                           .tools = namespaces(system),
                           .has_functions = has_functions});
  }
  if (given.contains("developer")) {
    const Json& developer = given.at("developer");
    return developer_message({developer.value("instructions", ""), namespaces(developer)});
  }
  return {.role = role_of(given.at("role")),
          .name = given.value("name", ""),
          .recipient = given.value("recipient", ""),
          .channel = given.value("channel", ""),
          .content_type = given.value("content_type", ""),
          .content = given.at("content")};
}

std::vector<HarmonyMessage> messages_of(const Json& given) {
  bool has_functions = false;
  for (const Json& message : given) {
    if (!message.contains("developer")) continue;
    for (const ToolNamespace& space : namespaces(message.at("developer"))) {
      has_functions = has_functions || (space.name == "functions" && !space.tools.empty());
    }
  }
  std::vector<HarmonyMessage> messages;
  for (const Json& message : given) messages.push_back(message_of(message, has_functions));
  return messages;
}

}  // namespace

Cases read_cases(const std::filesystem::path& file) {
  const Json json = Json::parse(read_file(file));
  Cases cases;
  for (const Json& given : json.at("rendered")) {
    cases.rendered.push_back({given.at("name"), messages_of(given.at("messages")), given.at("mode"),
                              given.at("drop_analysis"), given.at("text"), given.at("ids")});
  }
  for (const Json& given : json.at("parsed")) {
    cases.parsed.push_back(
        {given.at("name"), given.at("completion"), given.at("ids"), messages_of(given.at("messages"))});
  }
  return cases;
}

std::vector<TokenId> render(const HarmonyRenderer& renderer, const RenderCase& given) {
  const HarmonyRenderOptions options{given.drop_analysis};
  if (given.mode == "completion") return renderer.for_completion(given.messages, options);
  if (given.mode == "training") return renderer.for_training(given.messages, options);
  return renderer.conversation(given.messages, options);
}

}  // namespace kc::test
