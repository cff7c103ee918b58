#pragma once
// Vocabularies of the tests, and the Python packages that they compare with.
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "tests/support/python.h"
#include "tokenizer/tokenizer.h"

namespace kc::test {

// 661 byte tokens, then the reserved pieces of harmony up to <|endofprompt|> (id 681).
inline std::filesystem::path tiny_file() {
  return std::filesystem::path(KC_SOURCE_DIR) / "tests/golden/tokenizer/tiny.tiktoken";
}
inline const Tokenizer& tiny() {
  static const std::unique_ptr<Tokenizer> tokenizer = load_tokenizer(tiny_file());
  return *tokenizer;
}

inline std::filesystem::path shared_data() {
  const char* given = std::getenv("KERNELCAST_SHARED_DATA");
  return given != nullptr ? std::filesystem::path(given) : std::filesystem::path(KC_SOURCE_DIR) / "../shared/data";
}
inline std::filesystem::path o200k_file() { return shared_data() / "tokenizer/o200k_base.tiktoken.gz"; }
inline constexpr const char* kNoO200k =
    "no o200k vocabulary; KERNELCAST_SHARED_DATA names the folder that holds tokenizer/o200k_base.tiktoken.gz";
// nullptr when the file is absent.
inline const Tokenizer* o200k() {
  static const std::unique_ptr<Tokenizer> tokenizer =
      std::filesystem::exists(o200k_file()) ? load_tokenizer(o200k_file()) : nullptr;
  return tokenizer.get();
}

// The exit code of a Python program; 127 when it could not be run.
inline int run_python(const std::string& arguments) {
  const int status = std::system((python() + " " + arguments).c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}
inline int run_reference(const std::string& arguments) {
  return run_python(std::string(KC_SOURCE_DIR) + "/tests/tokenizer/reference.py " + arguments);
}
inline constexpr int kPackageMissing = 77;

// Little-endian int32 values, as Python's array writes them.
inline std::vector<TokenId> read_ids(const std::filesystem::path& file) {
  const std::string bytes = read_file(file);
  std::vector<TokenId> ids(bytes.size() / sizeof(TokenId));
  std::copy(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(ids.size() * sizeof(TokenId)),
            reinterpret_cast<char*>(ids.data()));
  return ids;
}

}  // namespace kc::test
