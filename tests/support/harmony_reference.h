#pragma once
// Runs tests/golden/make_harmony.py with openai-harmony and the real vocabulary, where both are there.
#include <filesystem>
#include <string>

#include "tests/support/o200k_vocabulary.h"
#include "tests/support/python.h"
#include "tests/support/temp_folder.h"

namespace kc::test {

// Empty when the script ran, else why it could not: the reason of a skipped test. `arguments` are for the shell.
inline std::string run_harmony_reference(const std::string& arguments) {
  namespace fs = std::filesystem;
  const std::optional<fs::path> vocabulary = o200k_vocabulary();
  if (!vocabulary) return kNoO200kVocabulary;
  const TempFolder folder;
  if (!runs((vocabulary->extension() == ".gz" ? "gunzip -c '" : "cat '") + vocabulary->string() + "' > '" +
            (folder / "o200k_base.tiktoken").string() + "'")) {
    return "cannot read " + vocabulary->string();
  }
  if (!python_can("import openai_harmony"))
    return "openai-harmony is not installed (scripts/setup --reference brings it)";
  const std::string command = "TIKTOKEN_ENCODINGS_BASE='" + folder.path().string() + "' '" + python() +
                              "' '" KC_SOURCE_DIR "/tests/golden/make_harmony.py' " + arguments;
  return runs(command) ? "" : "failed: " + command;
}

}  // namespace kc::test
