#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>
#include <sentencepiece_trainer.h>

#include "base/error.h"
#include "tokenizer/sentencepiece_tokenizer.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace kc {
namespace {

// Lines, without what encode() keeps from SentencePiece.
std::vector<std::string> training_lines(const std::vector<std::string>& texts) {
  std::vector<std::string> lines;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) lines.push_back(line);
    line.clear();
  };
  for (const std::string& text : texts) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = utf8_length(text, at);
      if (length > 0 && sentence_character(std::string_view(text).substr(at, length)))
        line.append(text, at, length);
      else
        flush();
      at += std::max<std::size_t>(length, 1);
    }
    flush();
  }
  return lines;
}

void check_options(const VocabularyOptions& options) {
  const std::int64_t least = 256 + 2 + static_cast<std::int64_t>(options.reserved.size()) + 8;
  if (options.size < least || options.size > 1'000'000)
    throw Error(ErrorKind::config, fmt::format("tokenizer.size {}: expected {} (bytes and reserved pieces) to 1000000",
                                               options.size, least));
  for (std::size_t i = 0; i < options.reserved.size(); ++i) {
    const std::string& piece = options.reserved[i];
    if (piece.size() < 2 || piece.find_first_of(", \t\r\n\"") != std::string::npos)
      throw Error(ErrorKind::config, fmt::format("reserved piece \"{}\": needs two or more characters, none of them a "
                                                 "space, comma or quote",
                                                 piece));
    if (std::find(options.reserved.begin(), options.reserved.begin() + static_cast<std::ptrdiff_t>(i), piece) !=
        options.reserved.begin() + static_cast<std::ptrdiff_t>(i))
      throw Error(ErrorKind::config, fmt::format("reserved piece \"{}\" is given twice", piece));
  }
}

class LineSource final : public sentencepiece::SentenceIterator {
 public:
  explicit LineSource(const std::vector<std::string>& lines) : lines_(lines) {}
  bool done() const override { return next_ >= lines_.size(); }
  void Next() override { ++next_; }
  const std::string& value() const override { return lines_[next_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& lines_;
  std::size_t next_ = 0;
};

std::unordered_map<std::string, std::string> trainer_settings(const VocabularyOptions& options) {
  std::string reserved;
  for (const std::string& piece : options.reserved) reserved += (reserved.empty() ? "" : ",") + piece;
  std::unordered_map<std::string, std::string> settings = {
      {"model_type", "bpe"},
      {"vocab_size", std::to_string(options.size)},
      {"byte_fallback", "true"},
      {"character_coverage", "0.9999"},
      {"split_by_unicode_script", "false"},
      {"split_by_whitespace", options.split_words ? "true" : "false"},
      {"split_digits", options.split_digits ? "true" : "false"},
      {"allow_whitespace_only_pieces", "true"},
      {"normalization_rule_name", "identity"},
      {"add_dummy_prefix", "false"},
      {"remove_extra_whitespaces", "false"},
      {"hard_vocab_limit", "false"},
      {"max_sentence_length", "1000000000"},
      {"shuffle_input_sentence", "false"},
      {"num_threads", "1"},
      {"unk_id", "0"},
      {"bos_id", "-1"},
      {"eos_id", "-1"},
      {"pad_id", "-1"},
      {"user_defined_symbols", "\n"},
      {"minloglevel", "2"},
  };
  if (!reserved.empty()) settings["control_symbols"] = reserved;
  return settings;
}

}  // namespace

std::unique_ptr<Tokenizer> train_tokenizer(const std::vector<std::string>& texts, const VocabularyOptions& options) {
  check_options(options);
  const std::vector<std::string> lines = training_lines(texts);
  if (lines.empty()) throw Error(ErrorKind::bad_data, "cannot train a vocabulary: the training texts are empty");
  std::string model;
  LineSource source(lines);
  const auto status = sentencepiece::SentencePieceTrainer::Train(trainer_settings(options), &source, &model);
  if (!status.ok())
    throw Error(ErrorKind::bad_data,
                fmt::format("cannot train a vocabulary of {} pieces on {} lines: {}. A smaller tokenizer.size may do",
                            options.size, lines.size(), status.ToString()));
  return make_sentencepiece_tokenizer(std::move(model), "the trained vocabulary");
}

}  // namespace kc
