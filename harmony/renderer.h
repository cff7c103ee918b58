#pragma once
// Conversations as token ids, token for token as openai-harmony 0.0.8 renders them.
#include <span>
#include <string_view>
#include <vector>

#include "harmony/conversation.h"
#include "harmony/specials.h"

namespace kc {

struct HarmonyRenderOptions {
  // When the assistant's last message is its final answer, its reasoning before the *first* final answer is left out;
  // while a call is pending everything stays.
  bool drop_analysis = true;
};

// Every text is encoded with special tokens switched off, so no content can forge a header. Thread-safe.
class HarmonyRenderer {
 public:
  // `tokenizer` must outlive the renderer.
  HarmonyRenderer(const Tokenizer& tokenizer, HarmonySpecials specials) : tokenizer_(&tokenizer), ids_(specials) {}

  // `<|start|>` author, recipient, channel, content type, `<|message|>`, content, end: `<|call|>` for an assistant's
  // message with a recipient, `<|end|>` for every other.
  std::vector<TokenId> message(const HarmonyMessage& message) const;
  // The same with `content` already encoded (message.content is not read).
  std::vector<TokenId> message(const HarmonyMessage& message, std::span<const TokenId> content) const;

  std::vector<TokenId> conversation(std::span<const HarmonyMessage> messages, HarmonyRenderOptions options = {}) const;
  // Followed by `<|start|>assistant`: what the model is asked to go on from.
  std::vector<TokenId> for_completion(std::span<const HarmonyMessage> messages,
                                      HarmonyRenderOptions options = {}) const;
  // A last message that is the assistant's final answer ends in `<|return|>`.
  std::vector<TokenId> for_training(std::span<const HarmonyMessage> messages, HarmonyRenderOptions options = {}) const;

  std::vector<TokenId> completion_head() const;                      // `<|start|>assistant`
  std::vector<TokenId> header(const HarmonyMessage& message) const;  // what stands between `<|start|>` and the content

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const HarmonySpecials& specials() const { return ids_; }

 private:
  void append_text(std::vector<TokenId>& ids, std::string_view text) const;
  const Tokenizer* tokenizer_;
  HarmonySpecials ids_;
};

}  // namespace kc
