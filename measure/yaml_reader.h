#pragma once
// A YAML file read strictly: every fault is Error{bad_data} that names file and line.
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace kc {

class YamlReader {
 public:
  // Error{bad_data} when the file is missing, unreadable or not YAML.
  static YamlReader load(const std::filesystem::path& file);

  // An error to throw: "FILE:LINE: KEY: MESSAGE".
  Error fault(const std::string& message) const;

  // Faults unless the node is a map without other keys than these, each of them once.
  void allow_keys(std::initializer_list<std::string_view> keys) const;

  bool has(const std::string& key) const;
  bool is_map() const;
  YamlReader at(const std::string& key) const;  // faults when the key is missing
  std::vector<YamlReader> items() const;        // of a list
  // Of a map, in the order of the file; faults when a key stands twice.
  std::vector<std::pair<std::string, YamlReader>> entries() const;
  std::string text() const;                                              // of a scalar, as it is written
  std::string text_or(const std::string& key, std::string other) const;  // of a key that may be missing
  std::int64_t integer() const;
  double number() const;

 private:
  struct Node;
  YamlReader(std::filesystem::path file, std::string key, Node node);

  std::filesystem::path file_;
  std::string key_;
  std::shared_ptr<const Node> node_;
};

}  // namespace kc
