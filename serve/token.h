#pragma once
// The secret that a server and its clients share.
#include <filesystem>
#include <string>

namespace kc {

// First line of the file. A file that is not there is made, for its owner only, with a random token when `make` is set;
// Error{bad_data} otherwise, and when others may read it.
std::string read_token_file(const std::filesystem::path& file, bool make = false);

// Takes equally long wherever they differ.
bool tokens_equal(const std::string& given, const std::string& expected);

}  // namespace kc
