#pragma once
// Names of all tests, for catalogues that claim to have them.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace kc::test {

// "Suite.Name" of every TEST, TEST_F and TEST_P below tests/.
inline std::set<std::string> tests_in_the_sources() {
  std::set<std::string> names;
  const std::regex test(R"(TEST(?:_F|_P)?\((\w+),\s*(\w+)\))");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(KC_SOURCE_DIR "/tests")) {
    if (entry.path().extension() != ".cpp") continue;
    std::ifstream file(entry.path());
    std::stringstream text;
    text << file.rdbuf();
    const std::string source = text.str();
    for (std::sregex_iterator at(source.begin(), source.end(), test), end; at != end; ++at) {
      names.insert((*at)[1].str() + "." + (*at)[2].str());
    }
  }
  return names;
}

// Whether one of these waits for a GPU.
inline bool names_a_gpu_test(const std::vector<std::string>& tests) {
  return std::ranges::any_of(tests, [](const std::string& test) { return test.starts_with("OnAGpu."); });
}

}  // namespace kc::test
