#include "serve/fields.h"

#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "forecast/measurement.h"

namespace kc {

using nlohmann::json;

Error message_fault(const std::string& what) {
  return Error(ErrorKind::bad_data, "a message is not as the protocol says: " + what);
}

std::string words_of(const std::exception& fault) {
  const std::string words = fault.what();
  const std::size_t end = words.find("] ");
  return end == std::string::npos ? words : words.substr(end + 2);
}

template <class T>
T field(const json& from, const std::string& key) {
  try {
    return from.at(key).get<T>();
  } catch (const json::exception& fault) {
    throw message_fault(fmt::format("'{}': {}", key, words_of(fault)));
  }
}

template <class T>
T field(const json& from, const std::string& key, const T& fallback) {
  return from.is_object() && !from.contains(key) ? fallback : field<T>(from, key);
}

template std::string field(const json&, const std::string&);
template std::string field(const json&, const std::string&, const std::string&);
template bool field(const json&, const std::string&);
template bool field(const json&, const std::string&, const bool&);
template int field(const json&, const std::string&);
template int field(const json&, const std::string&, const int&);
template double field(const json&, const std::string&);
template std::vector<float> field(const json&, const std::string&);
template Parameters field(const json&, const std::string&);
template Facts field(const json&, const std::string&);
template json field(const json&, const std::string&);
template json field(const json&, const std::string&, const json&);

json list_field(const json& from, const std::string& key) {
  json list = field<json>(from, key);
  if (list.is_array()) return list;
  throw message_fault(fmt::format("'{}' is no list", key));
}

}  // namespace kc
