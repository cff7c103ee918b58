#pragma once
#include <string>
#include <string_view>

namespace kc {

// SHA-256 of the bytes as 64 lower-case hexadecimal digits: names contents in the store and in manifests.
std::string sha256_hex(std::string_view bytes);

}  // namespace kc
