#pragma once
#include <memory>
#include <string>
#include <string_view>

namespace kc {

// SHA-256 of the bytes as 64 lower-case hexadecimal digits: names contents in the store and in manifests.
std::string sha256_hex(std::string_view bytes);

// The same for bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(Sha256&&) noexcept;
  void update(std::string_view bytes);
  std::string hex();  // of all bytes so far; update() must not follow

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kc
