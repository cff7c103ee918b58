#pragma once
// Python for tests beside its packages: that of the project's virtual environment where there is one.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace kc::test {

inline std::string python() {
  const std::filesystem::path own = std::filesystem::path(KC_SOURCE_DIR) / ".venv/bin/python3";
  return std::filesystem::exists(own) ? own.string() : "python3";
}

// Whether a shell command succeeds.
inline bool runs(const std::string& command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// The same without what it prints.
inline bool runs_silently(const std::string& command) { return runs("{ " + command + "; } >/dev/null 2>&1"); }

// Whether `statement`, such as "import torch, peft", works.
inline bool python_can(const std::string& statement) { return runs_silently(python() + " -c '" + statement + "'"); }

}  // namespace kc::test
