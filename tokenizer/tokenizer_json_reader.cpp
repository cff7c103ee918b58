#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/byte_pair_vocabulary.h"
#include "tokenizer/pre_tokenizer.h"

namespace kc {
namespace {

using nlohmann::json;

constexpr std::uint64_t kLargestId = 16'000'000;

// Builds the JSON tree without the two large parts: model.vocab becomes tokens, model.merges is passed over.
class Reader final : public nlohmann::json_sax<json> {
 public:
  Reader(const std::string& name, std::vector<std::string>& tokens) : name_(name), tokens_(tokens) {}

  json tree;
  std::vector<bool> taken;  // ids that model.vocab gives

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(number_integer_t v) override { return part_ == Part::vocab ? bad_id() : value(v); }
  bool number_unsigned(number_unsigned_t v) override { return part_ == Part::vocab ? token(v) : value(v); }
  bool number_float(number_float_t v, const string_t&) override { return value(v); }
  bool string(string_t& v) override { return part_ == Part::merges || value(std::move(v)); }
  bool binary(binary_t&) override { return true; }
  bool key(string_t& v) override {
    key_.swap(v);
    return true;
  }
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fault(fmt::format("not JSON at byte {}: the file is damaged or cut short", position));
  }

 private:
  enum class Part { other, vocab, merges };

  [[noreturn]] void fault(const std::string& why) const { throw Error(ErrorKind::bad_data, name_ + ": " + why); }
  bool bad_id() const {
    fault(fmt::format("model.vocab: the id of \"{}\" is not a whole number from 0 to {}", key_, kLargestId));
  }

  bool token(std::uint64_t id) {
    if (id > kLargestId) bad_id();
    const auto bytes = byte_level_bytes(key_);
    if (!bytes) fault(fmt::format("model.vocab: \"{}\" is not in the byte-level alphabet", key_));
    if (id >= tokens_.size()) tokens_.resize(id + 1);
    taken.resize(tokens_.size());
    if (taken[id]) fault(fmt::format("model.vocab: the id {} is given twice", id));
    taken[id] = true;
    tokens_[id] = *bytes;
    return true;
  }

  json* add(json v) {
    if (open_.empty()) return &(tree = std::move(v));
    json& parent = *open_.back();
    if (parent.is_object()) return &(parent[key_] = std::move(v));
    parent.push_back(std::move(v));
    return &parent.back();
  }

  bool value(json v) {
    if (part_ == Part::vocab) bad_id();
    if (part_ == Part::other) add(std::move(v));
    return true;
  }

  bool open(json v) {
    if (part_ == Part::vocab) bad_id();
    if (part_ == Part::merges) {
      ++depth_;
      return true;
    }
    const bool in_model = open_.size() == 2 && in_model_;
    if (open_.size() == 1) in_model_ = key_ == "model";
    if (in_model && key_ == "vocab" && v.is_object()) part_ = Part::vocab;
    if (in_model && key_ == "merges" && v.is_array()) part_ = Part::merges;
    open_.push_back(add(std::move(v)));
    return true;
  }

  bool close() {
    if (depth_ > 0) {
      --depth_;
      return true;
    }
    part_ = Part::other;
    open_.pop_back();
    return true;
  }

  const std::string& name_;
  std::vector<std::string>& tokens_;
  std::vector<json*> open_;  // the objects and arrays around the current value
  std::string key_;
  Part part_ = Part::other;
  bool in_model_ = false;
  int depth_ = 0;  // of arrays inside model.merges
};

[[noreturn]] void unsupported(const std::string& name, const std::string& key, const json& value,
                              const std::string& expected) {
  std::string found = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (found.size() > 200) found = found.substr(0, 200) + "...";
  throw Error(ErrorKind::bad_data,
              fmt::format("{}: {} is {}; supported: {}. Give the vocabulary as o200k_base.tiktoken "
                          "if it is o200k's",
                          name, key, found, expected));
}

json at(const json& object, const char* key) {
  return object.is_object() && object.contains(key) ? object.at(key) : json();
}

bool set(const json& value) { return !value.is_null() && value != false && value != json(std::string()); }

void check_model(const json& model, const std::string& name) {
  if (set(at(model, "type")) && at(model, "type") != "BPE")
    unsupported(name, "model.type", at(model, "type"), "\"BPE\"");
  for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"})
    if (set(at(model, key))) unsupported(name, std::string("model.") + key, at(model, key), "null or false");
}

// A list of pre-tokenizers whatever the nesting: Split by the pattern, then bytes as characters.
void check_pre_tokenizer(const json& stage, const std::string& name) {
  const json stages = at(stage, "type") == "Sequence" ? at(stage, "pretokenizers") : json::array({stage});
  const bool split = stages.size() == 2 && at(stages[0], "type") == "Split" &&
                     at(stages[0], "behavior") == "Isolated" && !set(at(stages[0], "invert")) &&
                     at(at(stages[0], "pattern"), "Regex") == kO200kPattern;
  const bool bytes = stages.size() == 2 && at(stages[1], "type") == "ByteLevel" &&
                     at(stages[1], "use_regex") == false && !set(at(stages[1], "add_prefix_space"));
  if (!split || !bytes)
    unsupported(name, "pre_tokenizer", stage, "Split by o200k's pattern (Isolated), then ByteLevel without a pattern");
}

ReservedPieces added_tokens(const json& added, const std::string& name) {
  ReservedPieces pieces;
  for (const json& entry : added) {
    const json id = at(entry, "id");
    const json content = at(entry, "content");
    if (!id.is_number_unsigned() || id > kLargestId || !content.is_string() ||
        content.get_ref<const std::string&>().empty())
      unsupported(name, "added_tokens", entry, "entries with an id and a content");
    for (const char* key : {"lstrip", "rstrip", "single_word"})
      if (set(at(entry, key))) unsupported(name, std::string("added_tokens.") + key, entry, "false");
    pieces.emplace_back(content.get<std::string>(), id.get<TokenId>());
  }
  return pieces;
}

}  // namespace

ByteVocabulary parse_tokenizer_json(const std::string& text, const std::string& name) {
  ByteVocabulary vocabulary;
  Reader reader(name, vocabulary.tokens);
  json::sax_parse(text, &reader);
  const json& tree = reader.tree;
  if (!at(tree, "model").is_object() || vocabulary.tokens.empty())
    throw Error(ErrorKind::bad_data, name + ": no model.vocab with tokens: not a tokenizer.json of Hugging Face");
  check_model(tree.at("model"), name);
  if (set(at(tree, "normalizer"))) unsupported(name, "normalizer", at(tree, "normalizer"), "null");
  check_pre_tokenizer(at(tree, "pre_tokenizer"), name);
  vocabulary.reserved = added_tokens(at(tree, "added_tokens"), name);
  // Tokenizers that `tokenizers` trained list their reserved pieces in the vocabulary as well.
  for (const auto& [piece, id] : vocabulary.reserved)
    if (static_cast<std::size_t>(id) < vocabulary.tokens.size() &&
        vocabulary.tokens[static_cast<std::size_t>(id)] == piece)
      vocabulary.tokens[static_cast<std::size_t>(id)].clear();
  return vocabulary;
}

}  // namespace kc
