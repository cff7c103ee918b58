#pragma once
#include <filesystem>
#include <string>

namespace kc {

// The whole file, unpacked when it is a gzip file. Error{bad_data} when missing, unreadable or cut short.
std::string read_file_unpacked(const std::filesystem::path& path);

}  // namespace kc
