#pragma once
// What the compile worker (kernelcast-nvrtc) and the harness say to each other over a socket: messages of a length and
// fields, each field a length and bytes. Both sides refuse lengths beyond a bound.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kc::nvrtc {

inline constexpr int kSocketFd = 3;
inline constexpr std::uint32_t kMaxMessage = std::uint32_t{256} << 20;

using Fields = std::vector<std::string>;

// hello, worker to harness: {"hello", "NVRTC 13.0", missing bits in decimal} or {"failed", why}
// request: {file name, source, option, option, ...}
// reply: {result of nvrtcCompileProgram in decimal, its name, log, cubin}

// Bits of what the worker could not put in place.
inline constexpr unsigned kNoLandlock = 1;
inline constexpr unsigned kNoSystemCallFilter = 2;
inline constexpr unsigned kNoUser = 4;

inline std::string pack(const Fields& fields) {
  std::string body;
  const auto append = [&body](std::uint32_t n) { body.append(reinterpret_cast<const char*>(&n), sizeof n); };
  append(0);  // the length of the rest
  for (const std::string& field : fields) {
    append(static_cast<std::uint32_t>(field.size()));
    body += field;
  }
  const auto length = static_cast<std::uint32_t>(body.size() - sizeof(std::uint32_t));
  body.replace(0, sizeof length, reinterpret_cast<const char*>(&length), sizeof length);
  return body;
}

// Nothing when the lengths do not add up. `body`: without its leading length.
inline std::optional<Fields> unpack(const std::string& body) {
  Fields fields;
  for (std::size_t at = 0; at < body.size();) {
    std::uint32_t length = 0;
    if (body.size() - at < sizeof length) return std::nullopt;
    body.copy(reinterpret_cast<char*>(&length), sizeof length, at);
    at += sizeof length;
    if (length > body.size() - at) return std::nullopt;
    fields.push_back(body.substr(at, length));
    at += length;
  }
  return fields;
}

}  // namespace kc::nvrtc
