#include "base/config_document.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/suggest.h"

namespace kc {
namespace {

namespace fs = std::filesystem;
using Layer = std::vector<std::pair<std::string, ConfigValue>>;

constexpr const char* kParentKey = "base";

[[noreturn]] void fail(const ConfigPlace& place, const std::string& message) {
  throw Error(ErrorKind::config, place.text() + ": " + message);
}

// For file texts; values of --set have no line.
struct Source {
  std::string name;
  bool has_lines = true;
  ConfigPlace at(const YAML::Mark& mark) const { return {name, has_lines && !mark.is_null() ? mark.line + 1 : 0}; }
};

// An alias may point at a mapping that holds it: such a document has no end.
constexpr int kDeepest = 32;

ConfigValue convert(const YAML::Node& node, const ConfigPlace& place, int depth = 0) {
  if (depth > kDeepest) fail(place, "values are nested too deeply, or an alias holds itself");
  ConfigValue value;
  value.place = place;
  if (node.IsScalar()) {
    value.kind = ConfigValue::Kind::scalar;
    value.text = node.Scalar();
    value.quoted = node.Tag() == "!";
  } else if (node.IsSequence()) {
    value.kind = ConfigValue::Kind::list;
    for (const YAML::Node& item : node) value.items.push_back(convert(item, place, depth + 1));
  } else if (!node.IsNull()) {
    value.kind = ConfigValue::Kind::other;
  }
  return value;
}

// A mapping adds its members under "prefix.", everything else is one value. An empty mapping adds nothing.
void flatten(const YAML::Node& mapping, const std::string& prefix, const Source& source, Layer& layer, int depth = 0) {
  for (const auto& member : mapping) {
    const ConfigPlace place = source.at(member.first.Mark());
    if (depth > kDeepest) fail(place, "sections are nested too deeply, or an alias holds itself");
    if (!member.first.IsScalar()) fail(place, "a key must be plain text");
    const std::string key = prefix.empty() ? member.first.Scalar() : prefix + "." + member.first.Scalar();
    if (member.second.IsMap()) {
      flatten(member.second, key, source, layer, depth + 1);
      continue;
    }
    const auto twin = std::find_if(layer.begin(), layer.end(), [&](const auto& entry) { return entry.first == key; });
    if (twin != layer.end()) fail(place, "'" + key + "' stands twice, first at " + twin->second.place.text());
    layer.emplace_back(key, convert(member.second, place));
  }
}

std::vector<YAML::Node> parse(const std::string& text, const Source& source) {
  try {
    return YAML::LoadAll(text);
  } catch (const YAML::Exception& error) {
    fail(source.at(error.mark), "not valid YAML: " + error.msg);
  }
}

Layer parse_layer(const std::string& text, const Source& source) {
  const std::vector<YAML::Node> documents = parse(text, source);
  if (documents.size() > 1)
    fail({source.name}, "holds " + std::to_string(documents.size()) + " documents, expected one");
  Layer layer;
  if (documents.empty() || documents.front().IsNull()) return layer;
  if (!documents.front().IsMap()) fail(source.at(documents.front().Mark()), "expected sections with keys ('section:')");
  flatten(documents.front(), "", source, layer);
  return layer;
}

std::string read_config_file(const fs::path& file) {
  std::error_code error;
  if (fs::exists(file, error)) return read_file(file);
  std::vector<std::string> neighbours;
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".yaml") neighbours.push_back(entry.path().filename().string());
  }
  std::sort(neighbours.begin(), neighbours.end());
  fail({file.string()}, "no such configuration file" + did_you_mean(file.filename().string(), neighbours));
}

}  // namespace

std::string ConfigValue::describe() const {
  switch (kind) {
    case Kind::null:
      return "nothing";
    case Kind::scalar:
      return quoted ? "the text \"" + text + "\"" : "'" + text + "'";
    case Kind::list:
      return "a list of " + std::to_string(items.size());
    case Kind::other:
      break;
  }
  return "a section";
}

void ConfigDocument::add_file(const fs::path& file) {
  const fs::path identity = fs::weakly_canonical(file);
  if (std::find(open_files_.begin(), open_files_.end(), identity) != open_files_.end()) {
    fail({file.string()}, "is its own parent through 'base:'; remove one 'base:' of the circle");
  }
  open_files_.push_back(identity);
  try {
    add_text(read_config_file(file), file.string());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_data) throw;
    throw Error(ErrorKind::config, error.what());
  }
  open_files_.pop_back();
}

void ConfigDocument::add_text(std::string_view yaml, const std::string& name) {
  const Layer layer = parse_layer(std::string(yaml), Source{name});
  add_parent(layer, name);
  add_layer(layer);
}

void ConfigDocument::add_parent(const Layer& layer, const std::string& name) {
  for (const auto& [key, value] : layer) {
    if (key != kParentKey) continue;
    if (value.kind != ConfigValue::Kind::scalar || value.text.empty()) {
      fail(value.place, "'base' must name one parent file, got " + value.describe());
    }
    const fs::path parent = fs::path(name).parent_path() / value.text;
    std::error_code error;
    if (!fs::exists(parent, error)) fail(value.place, "the parent '" + parent.string() + "' of 'base' does not exist");
    add_file(parent);
  }
}

void ConfigDocument::add_set(const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw Error(ErrorKind::usage, "--set " + assignment + ": expected section.key=value, such as --set run.seed=7");
  }
  const std::string key = assignment.substr(0, equals);
  const std::string text = assignment.substr(equals + 1);
  const Source source{"--set " + assignment, false};
  Layer layer;
  const std::vector<YAML::Node> documents = parse(text, source);
  if (documents.size() > 1) fail({source.name}, "the value holds more than one document");
  if (documents.empty() || documents.front().IsNull()) {
    layer.emplace_back(key, ConfigValue{ConfigValue::Kind::scalar, text, true, {}, {source.name}});
  } else if (documents.front().IsMap()) {
    flatten(documents.front(), key, source, layer);
  } else {
    layer.emplace_back(key, convert(documents.front(), {source.name}));
  }
  add_layer(layer);
}

void ConfigDocument::add_layer(const Layer& layer) {
  for (const auto& [key, value] : layer) {
    if (key == kParentKey) continue;
    const std::string inside = key + ".";
    const bool replaces_section = value.kind != ConfigValue::Kind::null;  // "section:" alone leaves a section as it is
    std::erase_if(values_, [&, name = key](const auto& entry) {
      return (replaces_section && entry.first.starts_with(inside)) || name.starts_with(entry.first + ".");
    });
    values_[key] = value;
  }
}

const ConfigValue* ConfigDocument::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

}  // namespace kc
