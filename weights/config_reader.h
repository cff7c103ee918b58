#pragma once
// How config.json of a model folder is read: used by gpt_oss_config_json.cpp only.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace kc::config_reader {

// Error{bad_data} with file and key.
[[noreturn]] void fail(const std::filesystem::path& file, const std::string& key, const std::string& problem);

// Reads keys of one object and remembers which were read, so that the rest can be refused. What it is made of must
// outlive it.
class Reader {
 public:
  Reader(const nlohmann::json& object, const std::filesystem::path& file, std::string prefix);

  // Leaves `value` alone where the key is absent. T: bool, double or std::int64_t.
  template <class T>
  void get(const char* key, T& value);
  // Of a key that must be there, from 1 to `most`.
  void get_size(const char* key, std::int64_t& value, std::int64_t most = std::int64_t{1} << 24);
  // Null where the key is absent or null.
  const nlohmann::json* find(const char* key);
  // Keys that were not read and may change the arithmetic are errors; or all that were not read.
  void refuse_others() const;
  void refuse_all_others() const;

 private:
  void refuse(bool (*harmless)(const std::string&)) const;

  const nlohmann::json& object_;
  const std::filesystem::path& file_;
  std::string prefix_;
  std::vector<std::string> read_;
};

}  // namespace kc::config_reader
