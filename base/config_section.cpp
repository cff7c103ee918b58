#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include "base/config.h"
#include "base/config_impl.h"
#include "base/suggest.h"

namespace kc {
namespace {

// How one type is read, checked and written.
template <class T>
struct Kind {
  std::string type;      // for --help-config
  std::string expected;  // for messages, with the range
  std::function<std::optional<T>(const ConfigValue&)> parse;
  std::function<std::string(const T&)> write;
};

bool is_number_text(const ConfigValue& value) { return value.kind == ConfigValue::Kind::scalar && !value.quoted; }

std::optional<double> parse_number(const ConfigValue& value) {
  if (!is_number_text(value)) return std::nullopt;
  if (value.text == ".inf" || value.text == "-.inf") return value.text.front() == '-' ? -HUGE_VAL : HUGE_VAL;
  const char* begin = value.text.data() + (value.text.starts_with('+') ? 1 : 0);
  const char* end = value.text.data() + value.text.size();
  double number = 0;
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

// Also "1e6", which is how people write large counts.
std::optional<std::int64_t> parse_integer(const ConfigValue& value) {
  if (!is_number_text(value)) return std::nullopt;
  std::int64_t integer = 0;
  const char* end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, integer);
  if (error == std::errc() && stop == end) return integer;
  constexpr double kExactUpTo = 9007199254740992.0;
  const std::optional<double> number = parse_number(value);
  if (!number || *number != std::floor(*number) || std::abs(*number) > kExactUpTo) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

template <class T>
bool within(T value, const KeyDoc& doc) {
  const auto number = static_cast<double>(value);
  return number >= doc.min && number <= doc.max;
}

Kind<std::int64_t> integer_kind(const KeyDoc& doc) {
  return {"integer", "an integer" + range_text(doc),
          [doc](const ConfigValue& value) {
            auto parsed = parse_integer(value);
            return parsed && within(*parsed, doc) ? parsed : std::nullopt;
          },
          [](const std::int64_t& value) { return yaml_text(value); }};
}

Kind<double> number_kind(const KeyDoc& doc) {
  return {"number", "a number" + range_text(doc),
          [doc](const ConfigValue& value) {
            auto parsed = parse_number(value);
            return parsed && within(*parsed, doc) ? parsed : std::nullopt;
          },
          [](const double& value) { return yaml_text(value); }};
}

Kind<bool> boolean_kind() {
  return {"boolean", "true or false",
          [](const ConfigValue& value) -> std::optional<bool> {
            if (!is_number_text(value) || (value.text != "true" && value.text != "false")) return std::nullopt;
            return value.text == "true";
          },
          [](const bool& value) { return yaml_text(value); }};
}

Kind<std::string> text_kind() {
  return {"text", "text",
          [](const ConfigValue& value) -> std::optional<std::string> {
            if (value.kind != ConfigValue::Kind::scalar) return std::nullopt;
            return value.text;
          },
          [](const std::string& value) { return yaml_text(value); }};
}

Kind<std::string> choice_kind(const std::vector<std::string>& choices) {
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "" : " | ") + choice;
  Kind<std::string> kind = text_kind();
  kind.type = "one of " + list;
  kind.expected = kind.type;
  kind.parse = [choices](const ConfigValue& value) -> std::optional<std::string> {
    const bool known = value.kind == ConfigValue::Kind::scalar &&
                       std::find(choices.begin(), choices.end(), value.text) != choices.end();
    return known ? std::optional(value.text) : std::nullopt;
  };
  return kind;
}

template <class T>
std::optional<std::vector<T>> parse_items(const ConfigValue& value, const Kind<T>& item) {
  if (value.kind != ConfigValue::Kind::list) return std::nullopt;
  std::vector<T> result;
  for (const ConfigValue& element : value.items) {
    std::optional<T> parsed = item.parse(element);
    if (!parsed) return std::nullopt;
    result.push_back(std::move(*parsed));
  }
  return result;
}

template <class T>
Kind<std::vector<T>> list_kind(const Kind<T>& item) {
  return {"list, each: " + item.type, "a list like [a, b], each " + item.expected,
          [item](const ConfigValue& value) { return parse_items(value, item); },
          [item](const std::vector<T>& values) {
            std::string text;
            for (const T& value : values) text += (text.empty() ? "" : ", ") + item.write(value);
            return "[" + text + "]";
          }};
}

std::string got(const ConfigValue& value) {
  std::string text = ", got " + value.describe();
  if (value.kind != ConfigValue::Kind::list) return text;
  text += ": [";
  for (std::size_t i = 0; i < value.items.size(); ++i) text += (i == 0 ? "" : ", ") + value.items[i].describe();
  return text + "]";
}

struct Request {
  Config::Impl& config;
  std::string key;
  const KeyDoc& doc;
};

template <class T>
T read(const Request& request, const T& fallback, const Kind<T>& kind) {
  const ConfigValue* given = request.config.document.find(request.key);
  T result = fallback;
  if (given != nullptr) {
    std::optional<T> parsed = kind.parse(*given);
    if (parsed) result = std::move(*parsed);
    if (!parsed) {
      request.config.add_fault(given->place, "'" + request.key + "' must be " + kind.expected + got(*given));
    }
  } else if (request.doc.required) {
    request.config.add_fault({request.config.file}, "the required key '" + request.key + "' is missing; it must be " +
                                                        kind.expected + " (" + request.doc.meaning + ")");
  }
  request.config.declare({request.key, kind.type, kind.write(fallback), kind.write(result), request.doc});
  return result;
}

std::string dotted(const std::string& section, const std::string& key) {
  return section.empty() ? key : section + "." + key;
}

}  // namespace

std::int64_t ConfigSection::integer(const std::string& key, std::int64_t fallback, const KeyDoc& doc) {
  return read(Request{*config_, dotted(name_, key), doc}, fallback, integer_kind(doc));
}

double ConfigSection::number(const std::string& key, double fallback, const KeyDoc& doc) {
  return read(Request{*config_, dotted(name_, key), doc}, fallback, number_kind(doc));
}

bool ConfigSection::boolean(const std::string& key, bool fallback, const KeyDoc& doc) {
  return read(Request{*config_, dotted(name_, key), doc}, fallback, boolean_kind());
}

std::string ConfigSection::text(const std::string& key, const std::string& fallback, const KeyDoc& doc) {
  return read(Request{*config_, dotted(name_, key), doc}, fallback, text_kind());
}

std::string ConfigSection::choice(const std::string& key, const std::string& fallback,
                                  const std::vector<std::string>& choices, const KeyDoc& doc) {
  return read(Request{*config_, dotted(name_, key), doc}, fallback, choice_kind(choices));
}

std::vector<std::string> ConfigSection::texts(const std::string& key, const std::vector<std::string>& fallback,
                                              const KeyDoc& doc) {
  return read(Request{*config_, dotted(name_, key), doc}, fallback, list_kind(text_kind()));
}

std::vector<std::int64_t> ConfigSection::integers(const std::string& key, const std::vector<std::int64_t>& fallback,
                                                  const KeyDoc& doc) {
  return read(Request{*config_, dotted(name_, key), doc}, fallback, list_kind(integer_kind(doc)));
}

std::vector<double> ConfigSection::numbers(const std::string& key, const std::vector<double>& fallback,
                                           const KeyDoc& doc) {
  return read(Request{*config_, dotted(name_, key), doc}, fallback, list_kind(number_kind(doc)));
}

bool ConfigSection::has(const std::string& key) const { return config_->document.find(dotted(name_, key)) != nullptr; }

void ConfigSection::fault(const std::string& key, const std::string& message) {
  const std::string full = dotted(name_, key);
  config_->add_fault(config_->place_of(full), "'" + full + "' " + message);
}

}  // namespace kc
