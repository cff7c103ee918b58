#pragma once
// The layers of a configuration as one flat table of dotted keys; each value remembers where it stands. Private to
// base.
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kc {

struct ConfigPlace {
  std::string file;  // or "--set key=value"
  int line = 0;      // from 1; 0: no line, as for --set
  std::string text() const { return line > 0 ? file + ":" + std::to_string(line) : file; }
};

struct ConfigValue {
  enum class Kind { null, scalar, list, other };
  Kind kind = Kind::null;
  std::string text;     // scalars: as written, without quotes
  bool quoted = false;  // "600" is text, 600 is a number
  std::vector<ConfigValue> items;
  ConfigPlace place;

  // For messages: 'text', "a list", "nothing".
  std::string describe() const;
};

class ConfigDocument {
 public:
  // Adds a file over what is there already, its `base:` parents first. Error{config} when unreadable, not a mapping, a
  // key stands twice, or parents form a circle.
  void add_file(const std::filesystem::path& file);
  void add_text(std::string_view yaml, const std::string& name);
  // "section.key=value". Error{usage} without "=", Error{config} when the value is not YAML.
  void add_set(const std::string& assignment);

  const ConfigValue* find(const std::string& key) const;
  const std::map<std::string, ConfigValue>& values() const { return values_; }

 private:
  using Layer = std::vector<std::pair<std::string, ConfigValue>>;
  void add_layer(const Layer& layer);
  void add_parent(const Layer& layer, const std::string& name);

  std::map<std::string, ConfigValue> values_;
  std::vector<std::filesystem::path> open_files_;
};

}  // namespace kc
