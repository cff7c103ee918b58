#include "base/config.h"

#include <algorithm>
#include <utility>

#include "base/config_impl.h"
#include "base/error.h"
#include "base/suggest.h"

namespace kc {
namespace {

std::string section_of(const std::string& key) {
  const std::size_t dot = key.rfind('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

std::string leaf_of(const std::string& key) { return key.substr(key.rfind('.') + 1); }

bool is_within(const std::string& key, const std::string& section) {
  return key == section || key.starts_with(section + ".");
}

// The nearest key of the same section, else of all, else one of the same name in another section, else what the section
// offers.
std::string advice(const std::string& key, const std::vector<ConfigDeclaration>& declarations) {
  std::vector<std::string> all;
  std::vector<std::string> neighbours;
  for (const ConfigDeclaration& declaration : declarations) {
    all.push_back(declaration.key);
    if (section_of(declaration.key) == section_of(key)) neighbours.push_back(leaf_of(declaration.key));
  }
  if (const auto near = nearest_name(leaf_of(key), neighbours)) {
    return "; did you mean '" + (section_of(key).empty() ? *near : section_of(key) + "." + *near) + "'?";
  }
  for (const std::string& other : all) {
    if (leaf_of(other) == leaf_of(key)) return "; did you mean '" + other + "'?";
  }
  if (const auto near = nearest_name(key, all)) return "; did you mean '" + *near + "'?";
  if (neighbours.empty()) return "; --help-config lists all keys";
  std::string list;
  for (const std::string& neighbour : neighbours) list += (list.empty() ? "" : ", ") + neighbour;
  return "; '" + section_of(key) + "' has: " + list;
}

}  // namespace

void Config::Impl::declare(ConfigDeclaration declaration) {
  for (const ConfigDeclaration& other : declarations) {
    if (other.key == declaration.key) return;
    if (is_within(other.key, declaration.key) || is_within(declaration.key, other.key)) {
      throw Error(ErrorKind::internal, "Config: '" + declaration.key + "' and '" + other.key +
                                           "' are declared, so that one is both a key and a section");
    }
  }
  declarations.push_back(std::move(declaration));
}

bool Config::Impl::is_declared(const std::string& key) const {
  return std::any_of(declarations.begin(), declarations.end(), [&](const auto& d) { return d.key == key; });
}

ConfigPlace Config::Impl::place_of(const std::string& key) const {
  const ConfigValue* value = document.find(key);
  return value != nullptr ? value->place : ConfigPlace{file};
}

void Config::Impl::add_fault(const ConfigPlace& place, const std::string& message) {
  const bool known = std::any_of(faults.begin(), faults.end(), [&](const ConfigFault& fault) {
    return fault.message == message && fault.place.text() == place.text();
  });
  if (!known) faults.push_back({place, message});
}

std::vector<ConfigFault> Config::Impl::unread() const {
  std::vector<ConfigFault> result;
  for (const auto& [key, value] : document.values()) {
    const bool belongs_elsewhere =
        std::any_of(ignored.begin(), ignored.end(), [&name = key](const auto& s) { return is_within(name, s); });
    // "warmup:" with all its keys commented out.
    const bool empty_section = value.kind == ConfigValue::Kind::null &&
                               std::any_of(declarations.begin(), declarations.end(),
                                           [&name = key](const auto& d) { return d.key.starts_with(name + "."); });
    if (is_declared(key) || belongs_elsewhere || empty_section) continue;
    result.push_back({value.place, "unknown key '" + key + "': nothing would read it" + advice(key, declarations)});
  }
  return result;
}

Config::Config(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Config::Config(Config&&) noexcept = default;
Config& Config::operator=(Config&&) noexcept = default;
Config::~Config() = default;

Config Config::load(const std::filesystem::path& file, std::span<const std::string> sets) {
  auto impl = std::make_unique<Impl>();
  impl->name = file.stem().string();
  impl->file = file.string();
  impl->document.add_file(file);
  for (const std::string& set : sets) impl->document.add_set(set);
  return Config(std::move(impl));
}

Config Config::parse(std::string_view yaml, const std::string& name, std::span<const std::string> sets) {
  auto impl = std::make_unique<Impl>();
  impl->name = std::filesystem::path(name).stem().string();
  impl->file = name;
  impl->document.add_text(yaml, name);
  for (const std::string& set : sets) impl->document.add_set(set);
  return Config(std::move(impl));
}

Config Config::defaults(std::span<const std::string> sets) { return parse("", "defaults", sets); }

ConfigSection Config::section(const std::string& name) { return ConfigSection(impl_.get(), name); }

void Config::ignore_section(const std::string& name) { impl_->ignored.push_back(name); }

void Config::finish() const {
  std::vector<ConfigFault> faults = impl_->faults;
  for (ConfigFault& fault : impl_->unread()) faults.push_back(std::move(fault));
  if (faults.empty()) return;
  std::stable_sort(faults.begin(), faults.end(), [](const ConfigFault& a, const ConfigFault& b) {
    return std::pair(a.place.file, a.place.line) < std::pair(b.place.file, b.place.line);
  });
  std::string text = faults.size() == 1 ? "the configuration has a fault:"
                                        : "the configuration has " + std::to_string(faults.size()) + " faults:";
  for (const ConfigFault& fault : faults) text += "\n  " + fault.place.text() + ": " + fault.message;
  throw Error(ErrorKind::config, text);
}

std::string Config::name() const { return impl_->name; }

}  // namespace kc
