#pragma once
// Messages between the harness and its worker processes: a length, then fields, each a length and bytes. Both sides
// refuse lengths beyond a bound.
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace kc {

using Fields = std::vector<std::string>;

inline constexpr int kWorkerSocketFd = 3;
inline constexpr std::uint32_t kMaxMessage = std::uint32_t{1} << 30;

inline std::string pack_fields(const Fields& fields) {
  std::string body(sizeof(std::uint32_t), '\0');  // the length of the rest
  const auto append = [&body](std::uint32_t n) { body.append(reinterpret_cast<const char*>(&n), sizeof n); };
  for (const std::string& field : fields) {
    append(static_cast<std::uint32_t>(field.size()));
    body += field;
  }
  const auto length = static_cast<std::uint32_t>(body.size() - sizeof(std::uint32_t));
  std::memcpy(body.data(), &length, sizeof length);
  return body;
}

// Nothing when the lengths do not add up. `body`: without its leading length.
inline std::optional<Fields> unpack_fields(const std::string& body) {
  Fields fields;
  for (std::size_t at = 0; at < body.size();) {
    std::uint32_t length = 0;
    if (body.size() - at < sizeof length) return std::nullopt;
    std::memcpy(&length, body.data() + at, sizeof length);
    at += sizeof length;
    if (length > body.size() - at) return std::nullopt;
    fields.push_back(body.substr(at, length));
    at += length;
  }
  return fields;
}

// A plain structure as a field, and back; nothing when the size differs.
template <class T>
std::string to_field(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}
template <class T>
std::optional<T> from_field(const std::string& field) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (field.size() != sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, field.data(), sizeof value);
  return value;
}

// Ends the process as soon as the harness has closed its end, also in the middle of work. (A parent-death signal would
// come when the harness's thread that started the worker ends.)
void end_with_harness();

// The worker's side; both end the process when the harness is gone or talks rubbish.
void send_to_harness(const Fields& fields);
Fields receive_from_harness();

}  // namespace kc
