#pragma once
// The secret that a server and its clients share.
#include <filesystem>
#include <string>

namespace kc {

inline constexpr std::size_t kMinTokenLength = 16;

// What is wrong with a token, which must be long enough and go into an HTTP header; empty: nothing.
std::string fault_of_token(const std::string& token);

// First line of the file. A file that is not there is made, for its owner only, with a random token when `make` is set;
// Error{bad_data} otherwise, when others may read it, and when the line is no token.
std::string read_token_file(const std::filesystem::path& file, bool make = false);

// Takes equally long wherever they differ.
bool tokens_equal(const std::string& given, const std::string& expected);

}  // namespace kc
