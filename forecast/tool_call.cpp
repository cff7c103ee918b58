#include "forecast/tool_call.h"

#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace kc {

namespace {

using nlohmann::json;

constexpr std::string_view kMessage = "<|message|>";

ParseFailure fail(ParseOutcome outcome, std::string detail) { return {outcome, std::move(detail)}; }

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
}

struct Calls {
  std::vector<std::string_view> arguments;
};

// Each `header <|message|> content end` whose header names the tool.
Calls harmony_calls(std::string_view text) {
  Calls calls;
  std::size_t header = 0;
  for (std::size_t at = text.find(kMessage); at != std::string_view::npos; at = text.find(kMessage, header)) {
    const std::size_t begin = at + kMessage.size();
    const std::size_t end = std::min({text.find("<|call|>", begin), text.find("<|end|>", begin),
                                      text.find("<|return|>", begin), text.find("<|start|>", begin), text.size()});
    if (text.substr(header, at - header).find(kToolName) != std::string_view::npos) {
      calls.arguments.push_back(text.substr(begin, end - begin));
    }
    header = end;
  }
  return calls;
}

// The end of the JSON object that begins at text[at] == '{'; text.size() + 1 when it never closes.
std::size_t object_end(std::string_view text, std::size_t at) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return text.size() + 1;
}

Calls plain_calls(std::string_view text) {
  Calls calls;
  for (std::size_t at = text.find(kToolName); at != std::string_view::npos; at = text.find(kToolName, at)) {
    at = text.find_first_not_of(" \t\r\n", at + kToolName.size());
    if (at != std::string_view::npos && text[at] == '(') at = text.find_first_not_of(" \t\r\n", at + 1);
    if (at == std::string_view::npos) break;
    if (text[at] != '{') continue;
    const std::size_t end = object_end(text, at);
    calls.arguments.push_back(text.substr(at, end - at));
    at = std::min(end, text.size());
  }
  return calls;
}

// A number as the rules allow it; empty when it is of another type.
std::optional<double> number_of(const json& value, ParseRules rules) {
  if (value.is_number()) return value.get<double>();
  if (rules == ParseRules::strict || !value.is_string()) return std::nullopt;
  const std::string_view text = trim(value.get_ref<const std::string&>());
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

struct Reader {
  const json& object;
  ParseRules rules;
  std::optional<ParseFailure> failure = std::nullopt;

  const json* field(const std::string& name) {
    const auto it = object.find(name);
    if (it != object.end()) return &*it;
    if (!failure) failure = fail(ParseOutcome::missing_field, name);
    return nullptr;
  }

  double number(const std::string& name, double low, double high) {
    const json* value = field(name);
    if (value == nullptr) return low;
    const std::optional<double> number = number_of(*value, rules);
    if (!number && !failure) failure = fail(ParseOutcome::wrong_type, name + " is not a number");
    if (number && !(*number >= low && *number <= high) && !failure) {
      failure = fail(ParseOutcome::out_of_range, fmt::format("{} = {}", name, *number));
    }
    return failure ? low : *number;
  }

  Bin bin() {
    const json* value = field("predicted_bin");
    const double number_value = number("predicted_bin", 1, kBins);
    const bool whole = number_value == std::floor(number_value);
    const bool right_type = rules == ParseRules::published || value == nullptr || value->is_number_integer();
    if ((!whole || !right_type) && !failure) {
      failure = fail(ParseOutcome::wrong_type, "predicted_bin is not an integer");
    }
    return static_cast<Bin>(number_value);
  }

  std::string reasoning() {
    const json* value = field("reasoning");
    if (value == nullptr) return "";
    if (!value->is_string()) {
      if (!failure) failure = fail(ParseOutcome::wrong_type, "reasoning is not a text");
      return "";
    }
    return value->get<std::string>();
  }
};

ParsedForecast read_call(std::string_view arguments, ParseRules rules) {
  if (nested_too_deep(arguments)) return Unexpected(fail(ParseOutcome::bad_json, "the arguments are nested too deep"));
  const json object = json::parse(arguments, nullptr, false);
  if (object.is_discarded()) return Unexpected(fail(ParseOutcome::bad_json, "the arguments are not JSON"));
  if (!object.is_object()) return Unexpected(fail(ParseOutcome::wrong_type, "the arguments are not an object"));
  Reader reader{object, rules};
  Forecast forecast;
  forecast.predicted_bin = reader.bin();
  for (Bin b = 1; b <= kBins; ++b) forecast.p[b - 1] = reader.number(fmt::format("p_{}", bin_name(b)), 0, 1);
  forecast.reasoning = reader.reasoning();
  if (reader.failure) return Unexpected(*reader.failure);
  if (rules == ParseRules::strict && object.size() != kBins + 2) {
    return Unexpected(fail(ParseOutcome::wrong_type, "unknown keys beside the ten of the tool"));
  }
  forecast.raw_sum = std::accumulate(forecast.p.begin(), forecast.p.end(), 0.0);
  if (forecast.raw_sum <= 0) return Unexpected(fail(ParseOutcome::all_zero, "all probabilities are 0"));
  for (double& p : forecast.p) p /= forecast.raw_sum;
  if (trim(forecast.reasoning).empty()) return Unexpected(fail(ParseOutcome::empty_reasoning, "no rationale"));
  return forecast;
}

}  // namespace

ParsedForecast read_tool_calls(std::span<const std::string_view> arguments, CallsEnd end, ParseRules rules) {
  if (end != CallsEnd::stopped) {
    const bool whole = !arguments.empty() && read_call(arguments.front(), rules).has_value();
    if (whole) return Unexpected(fail(ParseOutcome::no_stop, "a whole call without a stop token"));
    if (end == CallsEnd::cut) {
      return Unexpected(fail(ParseOutcome::truncated, "the limit of new tokens came before a whole call"));
    }
  }
  if (arguments.empty()) return Unexpected(fail(ParseOutcome::no_call, "the tool was not called"));
  if (arguments.size() > 1) {
    return Unexpected(fail(ParseOutcome::two_calls, fmt::format("{} calls", arguments.size())));
  }
  return read_call(arguments.front(), rules);
}

ParsedForecast parse_tool(std::string_view text, Completion completion, ParseRules rules) {
  const bool harmony = text.find(kMessage) != std::string_view::npos;
  const Calls calls = harmony ? harmony_calls(text) : plain_calls(text);
  return read_tool_calls(calls.arguments, completion == Completion::truncated ? CallsEnd::cut : CallsEnd::stopped,
                         rules);
}

std::string tool_description() {
  return "Submits your forecast of the candidate kernel's speedup over the reference kernel. Call it exactly once, "
         "after "
         "your reasoning.";
}

std::string tool_parameters() {
  nlohmann::ordered_json properties;
  properties["predicted_bin"] = {{"type", "integer"}, {"description", "The most likely bin, 1 to 8."}};
  for (Bin bin = 1; bin <= kBins; ++bin) {
    properties[fmt::format("p_{}", bin_name(bin))] = {
        {"type", "number"}, {"description", fmt::format("Probability of bin {}, from 0 to 1.", bin)}};
  }
  properties["reasoning"] = {{"type", "string"}, {"description", "Why, in one to three sentences."}};
  nlohmann::ordered_json required = nlohmann::ordered_json::array();
  for (const auto& [name, property] : properties.items()) required.push_back(name);
  return nlohmann::ordered_json{{"type", "object"}, {"properties", properties}, {"required", required}}.dump();
}

std::string tool_call_json(Bin bin, const Probabilities& p, const std::string& reasoning) {
  const std::array<int, kBins> steps = probability_steps(p);
  std::string text = fmt::format("{}{}", kToolCallHead, bin);
  for (Bin b = 1; b <= kBins; ++b) {
    text += fmt::format(",\"p_{}\":{:.2f}", bin_name(b), steps[b - 1] / static_cast<double>(kProbabilitySteps - 1));
  }
  return text + ",\"reasoning\":" + json(reasoning).dump(-1, ' ', false, json::error_handler_t::replace) + "}";
}

}  // namespace kc
