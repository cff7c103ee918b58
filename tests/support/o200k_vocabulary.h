#pragma once
// Where o200k_base.tiktoken is, for tests that need the real vocabulary.
#include <cstdlib>
#include <filesystem>
#include <optional>

namespace kc::test {

inline constexpr const char* kNoO200kVocabulary =
    "no o200k_base.tiktoken; TIKTOKEN_ENCODINGS_BASE names its folder, or KERNELCAST_SHARED_DATA one with tokenizer/";

// The file, plain or gzipped (load_tokenizer reads both).
inline std::optional<std::filesystem::path> o200k_vocabulary() {
  namespace fs = std::filesystem;
  const char* base = std::getenv("TIKTOKEN_ENCODINGS_BASE");
  const char* shared = std::getenv("KERNELCAST_SHARED_DATA");
  const fs::path data = shared != nullptr ? fs::path(shared) : fs::path(KC_SOURCE_DIR) / "../shared/data";
  for (const fs::path& file : {fs::path(base != nullptr ? base : "") / "o200k_base.tiktoken",
                               data / "tokenizer/o200k_base.tiktoken", data / "tokenizer/o200k_base.tiktoken.gz"}) {
    if (fs::exists(file)) return file;
  }
  return std::nullopt;
}

}  // namespace kc::test
