// The fuzzer's function on its corpus and on seeds spelled out here, in every build and under the sanitizers' presets.
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "base/atomic_file.h"
#include "base/rng.h"
#include "fuzz/harmony_input.h"
#include "rollout/tool_wire.h"

namespace kc {
namespace {

void check(const std::string& input) {
  check_harmony_input({reinterpret_cast<const std::uint8_t*>(input.data()), input.size()});
}

TEST(HarmonyFuzz, HoldsOnEveryInputOfTheCorpus) {
  std::size_t inputs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(KC_SOURCE_DIR) + "/fuzz/corpus/harmony")) {
    check(read_file(entry.path()));
    ++inputs;
  }
  EXPECT_GE(inputs, 20U);
}

TEST(HarmonyFuzz, HoldsOnWholeAnswersAndOnEveryCutOfThem) {
  const std::string call =
      "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions." +
      std::string(kToolName) + " <|constrain|>json<|message|>" +
      tool_call_json(5, uniform_probabilities(), "Wider \"tiles\".") + "<|call|>";
  for (std::uint8_t settings = 0; settings < 16; ++settings) {
    const std::string input = harmony_input(call, settings);
    for (std::size_t size = 0; size <= input.size(); ++size) check(input.substr(0, size));
  }
}

TEST(HarmonyFuzz, HoldsOnRandomBytes) {
  RngStream rng(std::uint64_t{5});
  for (int i = 0; i < 20000; ++i) {
    std::string input;
    for (std::uint64_t n = rng.below(120); n > 0; --n) input += static_cast<char>(rng.below(256));
    check(input);
  }
}

}  // namespace
}  // namespace kc
