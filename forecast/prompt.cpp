#include "forecast/prompt.h"

#include <map>
#include <string_view>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "forecast/prompt_fields.h"

namespace kc {

namespace {

bool is_name_char(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

// The placeholder that begins at the brace text[at]: its name, empty when there is none.
std::string_view placeholder_at(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && is_name_char(text[end])) ++end;
  if (end == text.size() || text[end] != '}') return {};
  return text.substr(at + 1, end - at - 1);
}

// Calls literal(text) and field(name) for the parts of a section in order.
template <class Literal, class Field>
void for_each_part(std::string_view text, const Literal& literal, const Field& field) {
  std::size_t begin = 0;
  for (std::size_t at = text.find('{'); at != std::string_view::npos; at = text.find('{', at)) {
    const std::string_view name = placeholder_at(text, at);
    if (name.empty()) {
      ++at;
      continue;
    }
    literal(text.substr(begin, at - begin));
    field(name);
    begin = at = at + name.size() + 2;
  }
  literal(text.substr(begin));
}

std::string filled(std::string_view section, const PromptFields& fields) {
  std::string result;
  for_each_part(
      section, [&](std::string_view text) { result += text; },
      [&](std::string_view name) { result += fields.text(name); });
  return result;
}

bool is_section_line(std::string_view line) {
  if (line.size() < 3 || line.front() != '[' || line.back() != ']') return false;
  for (const char c : line.substr(1, line.size() - 2)) {
    if (!is_name_char(c)) return false;
  }
  return true;
}

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of('\n');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of('\n') + 1 - first) + "\n";
}

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& what) {
  throw Error(ErrorKind::config, fmt::format("prompt template {}: {}; configs/prompts/default.txt describes the form",
                                             file.string(), what));
}

using Sections = std::map<std::string, std::string, std::less<>>;

Sections split_sections(const std::filesystem::path& file, std::string_view text) {
  Sections sections;
  std::string* current = nullptr;
  while (!text.empty()) {
    const std::size_t newline = std::min(text.find('\n'), text.size() - 1);
    std::string_view line = text.substr(0, newline + 1);
    text.remove_prefix(newline + 1);
    std::string_view bare = line.substr(0, line.find_last_not_of("\r\n") + 1);
    if (is_section_line(bare)) {
      const std::string name(bare.substr(1, bare.size() - 2));
      if (name != "system" && name != "user" && name != "short") fail(file, fmt::format("unknown section {}", bare));
      if (sections.contains(name)) fail(file, fmt::format("section {} twice", bare));
      current = &sections[name];
    } else if (current != nullptr) {
      *current += line;
    }
  }
  return sections;
}

std::string take_section(const std::filesystem::path& file, const Sections& sections, std::string_view name) {
  const auto it = sections.find(name);
  const std::string text = it == sections.end() ? "" : trimmed(it->second);
  if (text.empty()) fail(file, fmt::format("section [{}] is missing or empty", name));
  for_each_part(
      text, [](std::string_view) {},
      [&](std::string_view field) {
        if (!is_prompt_field(field)) fail(file, fmt::format("unknown placeholder {{{}}} in [{}]", field, name));
      });
  return text;
}

}  // namespace

PromptStyle prompt_style_of(const std::string& name) {
  if (name == "full") return PromptStyle::full;
  if (name == "diff") return PromptStyle::diff;
  throw Error(ErrorKind::config, fmt::format("unknown prompt style '{}': expected full or diff", name));
}

WireFormat wire_format_of(const std::string& name) {
  for (const WireFormat wire : {WireFormat::direct, WireFormat::compact, WireFormat::tool}) {
    if (name_of(wire) == name) return wire;
  }
  throw Error(ErrorKind::config, fmt::format("unknown wire format '{}': expected direct, compact or tool", name));
}

std::string name_of(PromptStyle style) { return style == PromptStyle::full ? "full" : "diff"; }

std::string name_of(WireFormat wire) {
  switch (wire) {
    case WireFormat::direct:
      return "direct";
    case WireFormat::compact:
      return "compact";
    case WireFormat::tool:
      return "tool";
  }
  return "?";
}

PromptTemplate PromptTemplate::load(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  const Sections sections = split_sections(file, text);
  PromptTemplate result;
  result.system_ = take_section(file, sections, "system");
  result.user_ = take_section(file, sections, "user");
  result.short_ = take_section(file, sections, "short");
  result.hash_ = sha256_hex(text);
  return result;
}

Prompt PromptTemplate::render(const PromptRequest& request, PromptStyle style, WireFormat wire) const {
  const PromptFields fields(request, style);
  if (wire != WireFormat::tool) return {.system = "", .user = filled(short_, fields)};
  return {.system = filled(system_, fields), .user = filled(user_, fields)};
}

}  // namespace kc
