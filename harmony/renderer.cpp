#include "harmony/renderer.h"

#include <algorithm>
#include <string>

namespace kc {
namespace {

bool is_final(const HarmonyMessage& message) {
  return message.role == HarmonyRole::assistant && message.channel == kFinalChannel;
}

// Messages before this index lose their analysis.
std::size_t analysis_dropped_before(std::span<const HarmonyMessage> messages) {
  const auto last = std::find_if(messages.rbegin(), messages.rend(),
                                 [](const HarmonyMessage& m) { return m.role == HarmonyRole::assistant; });
  if (last == messages.rend() || !is_final(*last)) return 0;
  const auto first = std::find_if(messages.begin(), messages.end(),
                                  [](const HarmonyMessage& m) { return m.channel == kFinalChannel; });
  return static_cast<std::size_t>(first - messages.begin());
}

std::string author_text(const HarmonyMessage& message) {
  if (message.role == HarmonyRole::tool) return message.name;
  return message.name.empty() ? name_of(message.role) : name_of(message.role) + ":" + message.name;
}

constexpr std::string_view kConstrain = "<|constrain|>";

}  // namespace

void HarmonyRenderer::append_text(std::vector<TokenId>& ids, std::string_view text) const {
  const std::vector<TokenId> encoded = tokenizer_->encode(text, false);
  ids.insert(ids.end(), encoded.begin(), encoded.end());
}

// Each part is encoded by itself, as the reference does: joined text could give other tokens.
std::vector<TokenId> HarmonyRenderer::header(const HarmonyMessage& message) const {
  std::vector<TokenId> ids;
  append_text(ids, author_text(message));
  if (!message.recipient.empty() && message.recipient != "all") append_text(ids, " to=" + message.recipient);
  if (!message.channel.empty()) {
    ids.push_back(ids_.channel);
    append_text(ids, message.channel);
  }
  if (message.content_type.starts_with(kConstrain)) {
    append_text(ids, " ");
    ids.push_back(ids_.constrain);
    append_text(ids, std::string_view(message.content_type).substr(kConstrain.size()));
  } else if (!message.content_type.empty()) {
    append_text(ids, " " + message.content_type);
  }
  ids.push_back(ids_.message);
  return ids;
}

std::vector<TokenId> HarmonyRenderer::message(const HarmonyMessage& message, std::span<const TokenId> content) const {
  std::vector<TokenId> ids{ids_.start};
  const std::vector<TokenId> head = header(message);
  ids.insert(ids.end(), head.begin(), head.end());
  ids.insert(ids.end(), content.begin(), content.end());
  const bool is_call = message.role == HarmonyRole::assistant && !message.recipient.empty();
  ids.push_back(is_call ? ids_.call : ids_.end);
  return ids;
}

std::vector<TokenId> HarmonyRenderer::message(const HarmonyMessage& message) const {
  return this->message(message, tokenizer_->encode(message.content, false));
}

std::vector<TokenId> HarmonyRenderer::conversation(std::span<const HarmonyMessage> messages,
                                                   HarmonyRenderOptions options) const {
  const std::size_t dropped_before = options.drop_analysis ? analysis_dropped_before(messages) : 0;
  std::vector<TokenId> ids;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (i < dropped_before && messages[i].channel == kAnalysisChannel) continue;
    const std::vector<TokenId> part = message(messages[i]);
    ids.insert(ids.end(), part.begin(), part.end());
  }
  return ids;
}

std::vector<TokenId> HarmonyRenderer::completion_head() const {
  std::vector<TokenId> ids{ids_.start};
  append_text(ids, name_of(HarmonyRole::assistant));
  return ids;
}

std::vector<TokenId> HarmonyRenderer::for_completion(std::span<const HarmonyMessage> messages,
                                                     HarmonyRenderOptions options) const {
  std::vector<TokenId> ids = conversation(messages, options);
  const std::vector<TokenId> head = completion_head();
  ids.insert(ids.end(), head.begin(), head.end());
  return ids;
}

std::vector<TokenId> HarmonyRenderer::for_training(std::span<const HarmonyMessage> messages,
                                                   HarmonyRenderOptions options) const {
  std::vector<TokenId> ids = conversation(messages, options);
  if (!messages.empty() && is_final(messages.back())) ids.back() = ids_.returns;
  return ids;
}

}  // namespace kc
