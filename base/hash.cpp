#include "base/hash.h"

#include <array>

#include <openssl/evp.h>

#include "base/error.h"

namespace kc {

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  unsigned int length = 0;
  const int ok = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr);
  if (ok != 1 || length != digest.size()) {
    throw Error(ErrorKind::environment, "SHA-256 is not available in libcrypto; check the OpenSSL installation");
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (const unsigned char byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace kc
