#include <algorithm>
#include <array>

#include "harmony/parser.h"

namespace kc {
namespace {

constexpr std::string_view kChannel = "<|channel|>";
constexpr std::string_view kConstrain = "<|constrain|>";
constexpr std::string_view kSpaces = " \t\r\n\v\f";

bool is_channel_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// Takes every `<|channel|>NAME` out; the first name counts. Junk right behind a name goes with it.
std::string take_channel(std::string& header) {
  std::string channel;
  for (std::size_t at = header.find(kChannel); at != std::string::npos; at = header.find(kChannel, at)) {
    std::size_t begin = at + kChannel.size();
    begin = std::min(header.find_first_not_of(kSpaces, begin), header.size());
    std::size_t end = begin;
    while (end < header.size() && is_channel_char(header[end])) ++end;
    if (channel.empty()) channel = header.substr(begin, end - begin);
    while (end < header.size() && header[end] != '<' && kSpaces.find(header[end]) == std::string_view::npos) ++end;
    header.replace(at, end - at, " ");
  }
  return channel;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t at = text.find_first_not_of(kSpaces); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kSpaces, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpaces, end);
  }
  return words;
}

// "<|constrain|>json", also spaced or glued to the word before it, out of the header.
std::string take_constraint(std::string& header) {
  const std::size_t at = header.find(kConstrain);
  if (at == std::string::npos) return {};
  const std::size_t begin = std::min(header.find_first_not_of(kSpaces, at + kConstrain.size()), header.size());
  const std::size_t end = std::min(header.find_first_of(" \t\r\n\v\f<", begin), header.size());
  std::string constraint = std::string(kConstrain) + header.substr(begin, end - begin);
  header.replace(at, end - at, " ");
  return constraint;
}

bool take_role(std::string_view word, HarmonyMessage& message) {
  const std::string_view role_name = word.substr(0, word.find(':'));
  for (const HarmonyRole role :
       {HarmonyRole::system, HarmonyRole::developer, HarmonyRole::user, HarmonyRole::assistant}) {
    if (role_name != name_of(role)) continue;
    message.role = role;
    if (role_name.size() < word.size()) message.name = word.substr(role_name.size() + 1);
    return true;
  }
  return false;
}

bool is_content_type(std::string_view word) {
  constexpr std::array<std::string_view, 3> kTypes = {"json", "code", "text"};
  return std::find(kTypes.begin(), kTypes.end(), word) != kTypes.end();
}

// The author's words at the front; the number of words used.
std::size_t take_author(const std::vector<std::string_view>& words, bool completion, HarmonyMessage& message) {
  message.role = HarmonyRole::assistant;
  if (words.empty()) return 0;
  if (take_role(words[0], message)) return 1;
  if (completion || words[0].starts_with("to=")) return 0;
  message.role = HarmonyRole::tool;
  message.name = words[0];
  return 1;
}

}  // namespace

ParsedMessage parse_header(std::string_view text, bool completion) {
  ParsedMessage parsed;
  HarmonyMessage& message = parsed.message;
  std::string header(text);
  message.channel = take_channel(header);
  message.content_type = take_constraint(header);
  const std::vector<std::string_view> words = words_of(header);
  std::vector<std::string_view> others;
  for (std::size_t i = take_author(words, completion, message); i < words.size(); ++i) {
    if (words[i].starts_with("to=") && message.recipient.empty()) {
      message.recipient = words[i].substr(3);
    } else {
      others.push_back(words[i]);
    }
  }
  for (const std::string_view word : others) {
    if (word == name_of(message.role)) continue;
    if (message.content_type.empty() && (is_content_type(word) || !message.recipient.empty())) {
      message.content_type = word;
    } else if (message.recipient.empty() && !is_content_type(word)) {
      message.recipient = word;
    } else {
      parsed.junk += (parsed.junk.empty() ? "" : " ") + std::string(word);
    }
  }
  return parsed;
}

}  // namespace kc
