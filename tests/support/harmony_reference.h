#pragma once
// Runs tests/golden/make_harmony.py with openai-harmony and the real vocabulary, where both are there.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/o200k_vocabulary.h"
#include "tests/support/temp_folder.h"

namespace kc::test {

inline bool runs(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

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
  const fs::path own = fs::path(KC_SOURCE_DIR) / ".venv/bin/python3";
  const std::string python = "TIKTOKEN_ENCODINGS_BASE='" + folder.path().string() + "' '" +
                             (fs::exists(own) ? own.string() : "python3") + "' ";
  if (!runs(python + "-c 'import openai_harmony' >/dev/null 2>&1")) {
    return "openai-harmony is not installed (scripts/setup --reference brings it)";
  }
  const std::string command = python + "'" KC_SOURCE_DIR "/tests/golden/make_harmony.py' " + arguments;
  return runs(command) ? "" : "failed: " + command;
}

}  // namespace kc::test
