#pragma once
#include <filesystem>
#include <string>

namespace kc {

// The whole file, as read_file() reads it, without a UTF-8 byte order mark: compilers take one at a file's beginning
// only, and ours stand behind lines of the harness.
std::string read_source_text(const std::filesystem::path& file);

}  // namespace kc
