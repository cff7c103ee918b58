#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tokenizer/byte_level.h"
#include "tokenizer/byte_pair_vocabulary.h"
#include "tokenizer/pre_tokenizer.h"

namespace kc {
namespace {

using nlohmann::ordered_json;

// Byte-level text has no control characters: only these two need an escape.
void append_quoted(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
}

std::string vocab_json(const BytePairTable& table, const std::vector<std::string>& texts) {
  std::string out = "{";
  for (std::size_t id = 0; id < table.size(); ++id) {
    if (texts[id].empty()) continue;
    out += out.size() == 1 ? "\"" : ", \"";
    append_quoted(out, texts[id]);
    out += "\": " + std::to_string(id);
  }
  return out + "}";
}

// Every way to join two tokens into a third, by the third's rank: `tokenizers` joins only what is listed.
std::string merges_json(const BytePairTable& table, const std::vector<std::string>& texts) {
  std::string out = "[";
  std::vector<std::pair<TokenId, TokenId>> joins;
  for (std::size_t id = 0; id < table.size(); ++id) {
    const std::string_view bytes = table.bytes_of(static_cast<TokenId>(id));
    joins.clear();
    for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
      const TokenId left = table.find(bytes.substr(0, cut));
      const TokenId right = left == BytePairTable::kNone ? left : table.find(bytes.substr(cut));
      if (right != BytePairTable::kNone) joins.emplace_back(left, right);
    }
    std::sort(joins.begin(), joins.end());
    for (const auto& [left, right] : joins) {
      out += out.size() == 1 ? "\"" : ", \"";
      append_quoted(out, texts[static_cast<std::size_t>(left)]);
      out += ' ';
      append_quoted(out, texts[static_cast<std::size_t>(right)]);
      out += '"';
    }
  }
  return out + "]";
}

ordered_json byte_level(bool use_regex) {
  return {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", use_regex}};
}

ordered_json added_tokens(const ReservedPieces& reserved) {
  ordered_json added = ordered_json::array();
  for (const auto& [name, id] : reserved)
    added.push_back({{"id", id},
                     {"content", name},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", true}});
  return added;
}

}  // namespace

std::string tokenizer_json(const BytePairTable& table, const ReservedPieces& reserved) {
  std::vector<std::string> texts(table.size());
  for (std::size_t id = 0; id < texts.size(); ++id)
    texts[id] = byte_level_text(table.bytes_of(static_cast<TokenId>(id)));
  const ordered_json split = {
      {"type", "Split"}, {"pattern", {{"Regex", kO200kPattern}}}, {"behavior", "Isolated"}, {"invert", false}};
  const ordered_json pre = {{"type", "Sequence"}, {"pretokenizers", ordered_json::array({split, byte_level(false)})}};
  // The two large parts as text: a tree of a million strings would take most of the time.
  return fmt::format(
      "{{\n\"version\": \"1.0\",\n\"truncation\": null,\n\"padding\": null,\n\"added_tokens\": {},\n\"normalizer\": "
      "null,\n\"pre_tokenizer\": {},\n\"post_processor\": null,\n\"decoder\": {},\n\"model\": {{\"type\": \"BPE\", "
      "\"dropout\": null, \"unk_token\": null, \"continuing_subword_prefix\": null, \"end_of_word_suffix\": null, "
      "\"fuse_unk\": false, \"byte_fallback\": false, \"ignore_merges\": true,\n\"vocab\": {},\n\"merges\": {}}}\n}}\n",
      added_tokens(reserved).dump(), pre.dump(), byte_level(true).dump(), vocab_json(table, texts),
      merges_json(table, texts));
}

std::string tokenizer_config_json(const ReservedPieces& reserved) {
  ordered_json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                         {"clean_up_tokenization_spaces", false},
                         {"model_input_names", {"input_ids", "attention_mask"}}};
  const std::pair<const char*, const char*> roles[] = {
      {"bos_token", "<|startoftext|>"}, {"eos_token", "<|return|>"}, {"pad_token", "<|endoftext|>"}};
  for (const auto& [role, piece] : roles)
    if (std::any_of(reserved.begin(), reserved.end(), [&](const auto& entry) { return entry.first == piece; }))
      config[role] = piece;
  return config.dump(2) + "\n";
}

}  // namespace kc
