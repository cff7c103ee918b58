#pragma once
// Cases made by openai-harmony (tests/golden/make_harmony.py), as this project's types.
#include <filesystem>
#include <string>
#include <vector>

#include "harmony/renderer.h"

namespace kc::test {

struct RenderCase {
  std::string name;
  std::vector<HarmonyMessage> messages;
  std::string mode;  // completion | training | conversation
  bool drop_analysis = true;
  std::string text;
  std::vector<TokenId> ids;  // o200k_harmony
};

struct ParseCase {
  std::string name;
  std::string completion;
  std::vector<TokenId> ids;
  std::vector<HarmonyMessage> messages;
};

struct Cases {
  std::vector<RenderCase> rendered;
  std::vector<ParseCase> parsed;
};

Cases read_cases(const std::filesystem::path& file);

std::vector<TokenId> render(const HarmonyRenderer& renderer, const RenderCase& given);

}  // namespace kc::test
