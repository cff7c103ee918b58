#include <algorithm>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/gzip.h"
#include "tokenizer/byte_pair_vocabulary.h"
#include "tokenizer/sentencepiece_tokenizer.h"
#include "tokenizer/tokenizer.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kKnownFiles[] = {"tokenizer.model", "tokenizer.json", "o200k_base.tiktoken",
                                       "o200k_base.tiktoken.gz"};
// What a checkpoint keeps beside tokenizer.json.
constexpr const char* kCompanions[] = {"tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja"};

bool is_rank_file(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".tiktoken") || name.ends_with(".tiktoken.gz");
}

// The vocabulary file of a folder; empty when there is none.
fs::path vocabulary_file(const fs::path& folder) {
  for (const char* name : kKnownFiles)
    if (fs::is_regular_file(folder / name)) return folder / name;
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (is_rank_file(entry.path())) found.push_back(entry.path());
  if (found.size() > 1)
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: more than one vocabulary ({} and {}): set tokenizer.path to the "
                            "file that belongs to the model",
                            folder.string(), found[0].filename().string(), found[1].filename().string()));
  return found.empty() ? fs::path() : found.front();
}

std::unique_ptr<Tokenizer> load_tokenizer_json(const fs::path& file) {
  std::string text = read_file(file);
  ByteVocabulary vocabulary = parse_tokenizer_json(text, file.string());
  vocabulary.files.emplace_back("tokenizer.json", std::move(text));
  for (const char* name : kCompanions)
    if (const fs::path companion = file.parent_path() / name; fs::is_regular_file(companion))
      vocabulary.files.emplace_back(name, read_file(companion));
  return make_byte_pair_tokenizer(std::move(vocabulary), file.string());
}

}  // namespace

bool has_tokenizer(const fs::path& folder) { return !vocabulary_file(folder).empty(); }

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& path) {
  const fs::path file = fs::is_directory(path) ? vocabulary_file(path) : path;
  if (file.empty())
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: no vocabulary: expected tokenizer.model, tokenizer.json or o200k_base.tiktoken in it; "
                            "tokenizer.path names a file elsewhere",
                            path.string()));
  if (is_rank_file(file))
    return make_byte_pair_tokenizer(parse_tiktoken(read_file_unpacked(file), file.string()), file.string());
  if (file.extension() == ".json") return load_tokenizer_json(file);
  if (file.extension() == ".model") return make_sentencepiece_tokenizer(read_file(file), file.string());
  throw Error(ErrorKind::bad_data, fmt::format("{}: not a vocabulary by its name: expected *.model (SentencePiece), "
                                               "tokenizer.json, *.tiktoken or *.tiktoken.gz",
                                               file.string()));
}

}  // namespace kc
