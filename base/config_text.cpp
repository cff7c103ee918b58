#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "base/config.h"
#include "base/config_impl.h"
#include "base/hash.h"

namespace kc {
namespace {

// Text that any YAML reader takes as text without quotes.
bool is_plain(const std::string& text) {
  constexpr std::string_view kSafe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
  constexpr std::string_view kWords[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  if (text.empty() || text.find_first_not_of(kSafe) != std::string::npos) return false;
  if (std::isalpha(static_cast<unsigned char>(text.front())) == 0 && !text.starts_with('/')) return false;
  std::string lower = text;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::find(std::begin(kWords), std::end(kWords), lower) == std::end(kWords);
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (byte < 0x20 || byte == 0x7F) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result + "\"";
}

// Keys in nested sections: keys of one section together, sections in the order of their first key.
struct Section {
  std::string name;
  std::vector<const ConfigDeclaration*> keys;
  std::vector<Section> sections;
};

void insert(Section& parent, const ConfigDeclaration& declaration, std::string_view rest) {
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos) {
    parent.keys.push_back(&declaration);
    return;
  }
  const std::string_view name = rest.substr(0, dot);
  auto child =
      std::find_if(parent.sections.begin(), parent.sections.end(), [&](const auto& s) { return s.name == name; });
  if (child == parent.sections.end()) child = parent.sections.insert(child, Section{std::string(name), {}, {}});
  insert(*child, declaration, rest.substr(dot + 1));
}

Section tree_of(const std::vector<ConfigDeclaration>& declarations) {
  Section root;
  for (const ConfigDeclaration& declaration : declarations) insert(root, declaration, declaration.key);
  return root;
}

void write_yaml(const Section& section, const std::string& indent, std::string& out) {
  for (const ConfigDeclaration* key : section.keys) {
    out += indent + key->key.substr(key->key.rfind('.') + 1) + ": " + key->value + "\n";
  }
  for (const Section& child : section.sections) {
    out += indent + child.name + ":\n";
    write_yaml(child, indent + "  ", out);
  }
}

void write_help(const Section& section, std::string& out) {
  for (const ConfigDeclaration* key : section.keys) {
    const std::string unit = key->doc.unit.empty() ? "" : " " + key->doc.unit;
    const std::string fallback =
        key->doc.required ? "required" + (unit.empty() ? "" : ", in" + unit) : "default " + key->fallback + unit;
    out += fmt::format("  {}: {}, {}{}\n      {}\n", key->key, key->type, fallback, range_text(key->doc),
                       key->doc.meaning);
  }
  for (const Section& child : section.sections) write_help(child, out);
}

}  // namespace

std::string yaml_text(std::int64_t value) { return std::to_string(value); }

std::string yaml_text(double value) {
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  std::string text = fmt::format("{}", value);
  const std::size_t exponent = text.find('e');
  // YAML 1.1 readers take "1e-05" for text; "1.0e-05" is a number for all.
  if (exponent != std::string::npos && text.find('.') == std::string::npos) text.insert(exponent, ".0");
  return text;
}

std::string yaml_text(bool value) { return value ? "true" : "false"; }
std::string yaml_text(const std::string& value) { return is_plain(value) ? value : quoted(value); }

std::string range_text(const KeyDoc& doc) {
  const bool low = std::isfinite(doc.min);
  const bool high = std::isfinite(doc.max);
  if (low && high) return fmt::format(", from {} to {}", doc.min, doc.max);
  if (low) return fmt::format(", at least {}", doc.min);
  return high ? fmt::format(", at most {}", doc.max) : "";
}

std::string Config::resolved_yaml() const {
  std::string text;
  write_yaml(tree_of(impl_->declarations), "", text);
  return text;
}

std::string Config::help() const {
  std::string text;
  const Section root = tree_of(impl_->declarations);
  if (!root.keys.empty()) write_help(Section{"", root.keys, {}}, text);
  for (const Section& section : root.sections) {
    text += section.name + "\n";
    write_help(section, text);
  }
  return text;
}

std::string Config::hash() const {
  std::vector<std::string> lines;
  for (const ConfigDeclaration& declaration : impl_->declarations) {
    if (!declaration.key.starts_with("run.")) lines.push_back(declaration.key + ": " + declaration.value + "\n");
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return sha256_hex(text);
}

}  // namespace kc
