#include "harmony/tool_types.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace kc {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDeepest = 64;  // schemas nest a few levels; what goes on is cut to `any`, not to a stack overflow

const Json* find(const Json& object, const char* key) {
  if (!object.is_object()) return nullptr;
  const auto it = object.find(key);
  return it == object.end() ? nullptr : &*it;
}

const std::string* text_of(const Json& object, const char* key) {
  const Json* value = find(object, key);
  return value != nullptr && value->is_string() ? value->get_ptr<const std::string*>() : nullptr;
}

const Json* list_of(const Json& object, const char* key) {
  const Json* value = find(object, key);
  return value != nullptr && value->is_array() ? value : nullptr;
}

bool is_nullable(const Json& schema) {
  const Json* value = find(schema, "nullable");
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

// Shortest digits that read back as the number; plain between 1e-5 and 1e16, else with an exponent: `1e20`, `1.5e-7`.
std::string number_text(double value) {
  std::array<char, 64> buffer{};
  const auto plain = std::abs(value) >= 1e-5 && std::abs(value) < 1e16;
  const bool zero = value == 0;
  const auto form = plain || zero ? std::chars_format::fixed : std::chars_format::scientific;
  const auto [end, error] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, form);
  std::string text(buffer.data(), end);
  if (plain || zero) return text.find('.') == std::string::npos ? text + ".0" : text;
  const std::size_t e = text.find('e');
  std::string exponent = text.substr(e + 1);
  const bool negative = exponent.front() == '-';
  exponent.erase(0, std::min(exponent.find_first_not_of("+-0"), exponent.size() - 1));
  return text.substr(0, e + 1) + (negative ? "-" : "") + exponent;
}

std::string json_text(const Json& value) {
  if (value.is_number_float()) return number_text(value.get<double>());
  if (!value.is_structured()) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
  std::string text;
  for (const auto& [key, element] : value.items()) {
    if (!text.empty()) text += ',';
    if (value.is_object()) text += Json(key).dump(-1, ' ', false, Json::error_handler_t::replace) + ":";
    text += json_text(element);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

enum class Quotes { always, unless_enum };

std::string default_text(const Json& schema, Quotes quotes) {
  const Json& value = *find(schema, "default");
  if (!value.is_string()) return "default: " + json_text(value);
  const auto& text = value.get_ref<const std::string&>();
  const Json* values = list_of(schema, "enum");
  const bool bare = quotes == Quotes::unless_enum && values != nullptr && !values->empty();
  return bare ? "default: " + text : "default: \"" + text + "\"";
}

std::string type_text(const Json& schema, const std::string& indent, int depth);

std::string with_null(std::string type, const Json& schema) {
  if (is_nullable(schema) && type.find("null") == std::string::npos) type += " | null";
  return type;
}

// One ` | TYPE // description default: v`.
std::string variant_text(const Json& variant, const std::string& indent, bool described, Quotes quotes, int depth) {
  std::string text = indent + " | " + with_null(type_text(variant, indent + "   ", depth), variant);
  std::string comment;
  const std::string* description = described ? text_of(variant, "description") : nullptr;
  if (description != nullptr) comment += " // " + *description;
  if (find(variant, "default") != nullptr) {
    comment += (description != nullptr ? " " : " // ") + default_text(variant, quotes);
  }
  return text + comment;
}

std::string one_of_text(const Json& variants, const std::string& indent, int depth) {
  std::string text;
  for (const Json& variant : variants) text += "\n" + variant_text(variant, indent, true, Quotes::always, depth);
  return text;
}

std::string named_type(const std::string& name) { return name == "integer" ? "number" : name; }

std::string union_text(const Json& names) {
  std::string text;
  for (const Json& name : names) {
    if (name.is_string()) text += (text.empty() ? "" : " | ") + named_type(name.get<std::string>());
  }
  return text.empty() ? "any" : text;
}

std::string enum_text(const Json& schema) {
  std::string text;
  if (const Json* values = list_of(schema, "enum")) {
    for (const Json& value : *values) {
      if (value.is_string()) text += (text.empty() ? "\"" : " | \"") + value.get<std::string>() + "\"";
    }
  }
  return text.empty() ? "string" : text;
}

std::string comments(const Json& property, const std::string& indent, bool one_of) {
  std::string text;
  if (const std::string* title = text_of(property, "title")) text += indent + "// " + *title + "\n" + indent + "//\n";
  const std::string* description = text_of(property, "description");
  if (description != nullptr && !one_of) text += indent + "// " + *description + "\n";
  const Json* examples = list_of(property, "examples");
  if (examples == nullptr || examples->empty()) return text;
  text += indent + "// Examples:\n";
  for (const Json& example : *examples) {
    if (example.is_string()) text += indent + "// - \"" + example.get<std::string>() + "\"\n";
  }
  return text;
}

// A property of several variants; its description stands above, and variants do not repeat it.
std::string one_of_property(const std::string& name, const Json& property, const std::string& indent, int depth) {
  const Json& variants = *list_of(property, "oneOf");
  const std::string* description = text_of(property, "description");
  const std::string* first = variants.empty() ? nullptr : text_of(variants.front(), "description");
  std::string text;
  if (description != nullptr && (first == nullptr || *first != *description)) {
    text += indent + "// " + *description + "\n";
  }
  if (find(property, "default") != nullptr) {
    text += indent + "// " + default_text(property, Quotes::unless_enum) + "\n";
  }
  text += indent + name + ":\n";
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const std::string* own = text_of(variants[i], "description");
    const bool repeated = description != nullptr && (i == 0 || (own != nullptr && *own == *description));
    text += variant_text(variants[i], indent, !repeated, Quotes::unless_enum, depth) + "\n";
  }
  return text + indent + ",\n";
}

std::string property_text(const std::string& name, const Json& property, const std::string& indent, int depth) {
  const bool one_of = list_of(property, "oneOf") != nullptr;
  std::string text = comments(property, indent, one_of);
  if (one_of) return text + one_of_property(name, property, indent, depth);
  text += indent + name + ": " + with_null(type_text(property, indent + "    ", depth), property) + ",";
  if (find(property, "default") != nullptr) text += " // " + default_text(property, Quotes::unless_enum);
  return text + "\n";
}

std::string object_text(const Json& schema, const std::string& indent, int depth) {
  std::string text;
  if (const std::string* description = text_of(schema, "description")) text += indent + "// " + *description + "\n";
  text += "{\n";
  const Json* required = list_of(schema, "required");
  const Json* properties = find(schema, "properties");
  if (properties != nullptr && properties->is_object()) {
    for (const auto& [name, property] : properties->items()) {
      const bool needed = required != nullptr && std::find(required->begin(), required->end(), name) != required->end();
      text += property_text(needed ? name : name + "?", property, indent, depth);
    }
  }
  return text + indent + "}";
}

std::string type_text(const Json& schema, const std::string& indent, int depth) {
  if (depth >= kDeepest) return "any";
  if (const Json* variants = list_of(schema, "oneOf")) return one_of_text(*variants, indent, depth + 1);
  if (const Json* names = list_of(schema, "type")) return union_text(*names);
  const std::string* type = text_of(schema, "type");
  if (type == nullptr) return "any";
  if (*type == "object") return object_text(schema, indent, depth + 1);
  if (*type == "string") return enum_text(schema);
  if (*type == "number" || *type == "integer") return "number";
  if (*type == "boolean") return "boolean";
  if (*type != "array") return "any";
  const Json* items = find(schema, "items");
  return items == nullptr ? "Array<any>" : type_text(*items, indent, depth + 1) + "[]";
}

}  // namespace

std::string tool_type(const ToolDefinition& tool) {
  if (tool.parameters.empty()) return "() => any";
  const Json schema = Json::parse(tool.parameters, nullptr, false);
  if (!schema.is_object()) {
    throw Error(ErrorKind::bad_data,
                fmt::format("tool '{}': its parameters are not a JSON object (a JSON Schema is expected)", tool.name));
  }
  return "(_: " + type_text(schema, "", 0) + ") => any";
}

}  // namespace kc
