#include "measure/yaml_reader.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace kc {

struct YamlReader::Node {
  YAML::Node yaml;
};

YamlReader::YamlReader(std::filesystem::path file, std::string key, Node node)
    : file_(std::move(file)), key_(std::move(key)), node_(std::make_shared<const Node>(std::move(node))) {}

YamlReader YamlReader::load(const std::filesystem::path& file) {
  try {
    return YamlReader(file, "", {YAML::LoadFile(file.string())});
  } catch (const YAML::BadFile&) {
    throw Error(ErrorKind::bad_data, fmt::format("{}: the file is missing or unreadable", file.string()));
  } catch (const YAML::Exception& e) {
    throw Error(ErrorKind::bad_data, fmt::format("{}:{}: not YAML: {}", file.string(), e.mark.line + 1, e.msg));
  }
}

Error YamlReader::fault(const std::string& message) const {
  const std::string subject = key_.empty() ? "" : key_ + ": ";
  return Error(ErrorKind::bad_data,
               fmt::format("{}:{}: {}{}", file_.string(), std::max(node_->yaml.Mark().line, 0) + 1, subject, message));
}

void YamlReader::allow_keys(std::initializer_list<std::string_view> keys) const {
  if (!node_->yaml.IsMap()) throw fault("expected a map of keys and values");
  for (const auto& [key, value] : entries()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      throw value.fault(fmt::format("unknown key; expected one of {}", fmt::join(keys, ", ")));
    }
  }
}

bool YamlReader::has(const std::string& key) const { return node_->yaml.IsMap() && node_->yaml[key].IsDefined(); }

bool YamlReader::is_map() const { return node_->yaml.IsMap(); }

YamlReader YamlReader::at(const std::string& key) const {
  if (!has(key)) throw fault(fmt::format("the key '{}' is missing", key));
  return YamlReader(file_, key, {node_->yaml[key]});
}

std::vector<YamlReader> YamlReader::items() const {
  if (!node_->yaml.IsSequence()) throw fault("expected a list");
  std::vector<YamlReader> items;
  for (const auto& item : node_->yaml) items.push_back(YamlReader(file_, key_, {item}));
  return items;
}

std::vector<std::pair<std::string, YamlReader>> YamlReader::entries() const {
  if (!node_->yaml.IsMap()) throw fault("expected a map of keys and values");
  std::vector<std::pair<std::string, YamlReader>> entries;
  std::map<std::string, int> lines;  // where each key stands
  for (const auto& entry : node_->yaml) {
    const std::string key = entry.first.Scalar();
    const int line = entry.first.Mark().line + 1;
    if (const auto [twin, added] = lines.emplace(key, line); !added) {
      throw Error(ErrorKind::bad_data, fmt::format("{}:{}: '{}' stands twice, first in line {}: remove one of them",
                                                   file_.string(), line, key, twin->second));
    }
    entries.emplace_back(key, YamlReader(file_, key, {entry.second}));
  }
  return entries;
}

std::string YamlReader::text() const {
  if (!node_->yaml.IsScalar()) throw fault("expected a single value");
  return node_->yaml.Scalar();
}

std::string YamlReader::text_or(const std::string& key, std::string other) const {
  return has(key) ? at(key).text() : std::move(other);
}

std::int64_t YamlReader::integer() const {
  try {
    return node_->yaml.as<std::int64_t>();
  } catch (const YAML::Exception&) {
    throw fault("expected an integer");
  }
}

double YamlReader::number() const {
  try {
    const double value = node_->yaml.as<double>();
    if (std::isfinite(value)) return value;
  } catch (const YAML::Exception&) {
    throw fault("expected a number");
  }
  throw fault("expected a finite number");
}

}  // namespace kc
