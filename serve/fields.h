#pragma once
// Fields of a message, whose faults name the key.
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace kc {

// Error{bad_data} in the words of the JSON library, without its number. `key` may be empty.
[[noreturn]] inline void refuse_message(const std::string& key, const nlohmann::json::exception& fault) {
  const std::string words = fault.what();
  const std::size_t end = words.find("] ");
  throw Error(ErrorKind::bad_data,
              fmt::format("a message is not as the protocol says: {}{}", key.empty() ? "" : "'" + key + "': ",
                          end == std::string::npos ? words : words.substr(end + 2)));
}

template <class T>
T field(const nlohmann::json& from, const std::string& key) {
  try {
    return from.at(key).get<T>();
  } catch (const nlohmann::json::exception& fault) {
    refuse_message(key, fault);
  }
}

// The same of a field that may be absent.
template <class T>
T field(const nlohmann::json& from, const std::string& key, const T& fallback) {
  return from.is_object() && !from.contains(key) ? fallback : field<T>(from, key);
}

// A field that is a list.
inline nlohmann::json list_field(const nlohmann::json& from, const std::string& key) {
  nlohmann::json list = field<nlohmann::json>(from, key);
  if (list.is_array()) return list;
  throw Error(ErrorKind::bad_data, fmt::format("a message is not as the protocol says: '{}' is no list", key));
}

}  // namespace kc
