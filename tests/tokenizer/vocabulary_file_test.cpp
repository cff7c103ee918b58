// Reading and writing vocabularies: rank files, tokenizer.json, folders; and what is wrong with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"
#include "tests/tokenizer/support.h"
#include "tokenizer/byte_level.h"
#include "tokenizer/byte_pair_vocabulary.h"

namespace kc {
namespace {

using nlohmann::json;
using test::tiny;
using test::tiny_file;
using testing::AllOf;
using testing::HasSubstr;

const std::string kText = "for (int row = 0; row < rows; ++row) sum += \u4E2D'\u017F <|end|>\n\n";

struct Saved {
  test::TempFolder folder;
  json tree;

  Saved() {
    tiny().save(folder.path());
    tree = read_json_file(folder.path() / "tokenizer.json");
  }
  void write() const { write_json_file(folder.path() / "tokenizer.json", tree); }
  std::unique_ptr<Tokenizer> load() const {
    write();
    return load_tokenizer(folder.path());
  }
};

void expect_refused(const Saved& saved, const std::string& key) {
  EXPECT_ERROR(saved.load(), ErrorKind::bad_data, AllOf(HasSubstr("tokenizer.json"), HasSubstr(key)));
}

TEST(VocabularyFile, ARankFileBecomesATokenizerJsonOfTheSameIds) {
  const Saved saved;
  const auto loaded = load_tokenizer(saved.folder.path());
  EXPECT_EQ(loaded->encode(kText, false), tiny().encode(kText, false));
  EXPECT_EQ(loaded->encode(kText, true), tiny().encode(kText, true));
  EXPECT_EQ(loaded->hash(), tiny().hash());
  EXPECT_EQ(loaded->vocabulary_size(), 682);
  EXPECT_EQ(loaded->decode(std::vector<TokenId>{681}), "<|endofprompt|>");
  EXPECT_EQ(loaded->id_of("<|reserved_681|>"), 681);
}

TEST(VocabularyFile, SavingWritesBackWhatWasRead) {
  const Saved saved;
  write_file_atomically(saved.folder.path() / "chat_template.jinja", "{{ messages }}");
  const auto loaded = load_tokenizer(saved.folder.path());
  const test::TempFolder other;
  loaded->save(other.path());
  for (const char* name : {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"})
    EXPECT_EQ(read_file(other.path() / name), read_file(saved.folder.path() / name)) << name;
}

TEST(VocabularyFile, TheHashIsOfTheContents) {
  Saved saved;
  EXPECT_EQ(saved.load()->hash(), tiny().hash());  // written anew: other spacing, other order of keys
  saved.tree["added_tokens"].erase(0);
  EXPECT_NE(saved.load()->hash(), tiny().hash());
}

TEST(VocabularyFile, AFolderIsRecognisedByItsFiles) {
  const test::TempFolder folder;
  EXPECT_FALSE(has_tokenizer(folder.path()));
  EXPECT_FALSE(has_tokenizer(folder.path() / "absent"));
  std::filesystem::copy_file(tiny_file(), folder.path() / "some.tiktoken");
  EXPECT_TRUE(has_tokenizer(folder.path()));
  EXPECT_EQ(load_tokenizer(folder.path())->hash(), tiny().hash());
  EXPECT_EQ(load_tokenizer(folder.path() / "some.tiktoken")->hash(), tiny().hash());
  std::filesystem::copy_file(tiny_file(), folder.path() / "other.tiktoken");
  EXPECT_ERROR(load_tokenizer(folder.path()), ErrorKind::bad_data,
               AllOf(HasSubstr("more than one"), HasSubstr("tokenizer.path")));
  std::filesystem::rename(folder.path() / "other.tiktoken", folder.path() / "o200k_base.tiktoken");
  EXPECT_EQ(load_tokenizer(folder.path())->hash(), tiny().hash());  // the known name goes first
  const auto sentence_pieces = train_tokenizer({"abc abd abc\n"}, {.size = 280});
  sentence_pieces->save(folder.path());
  EXPECT_EQ(load_tokenizer(folder.path())->hash(), sentence_pieces->hash());
}

TEST(VocabularyFile, TokensThatAreReservedPiecesAsWellAreReserved) {
  Saved saved;
  for (const auto& entry : saved.tree["added_tokens"])  // as `tokenizers` writes what it has trained
    saved.tree["model"]["vocab"][std::string(entry["content"])] = entry["id"];
  const auto loaded = saved.load();
  EXPECT_EQ(loaded->hash(), tiny().hash());
  EXPECT_EQ(loaded->encode("<|end|>", false), tiny().encode("<|end|>", false));
}

TEST(VocabularyFile, RefusesATokenizerJsonThatMeansSomethingElse) {
  const std::vector<std::pair<std::string, json>> changes = {{"/model/type", "Unigram"},
                                                             {"/model/byte_fallback", true},
                                                             {"/model/continuing_subword_prefix", "##"},
                                                             {"/normalizer", {{"type", "NFC"}}},
                                                             {"/pre_tokenizer", nullptr},
                                                             {"/pre_tokenizer/pretokenizers/0/pattern/Regex", "\\w+"},
                                                             {"/pre_tokenizer/pretokenizers/0/behavior", "Removed"},
                                                             {"/pre_tokenizer/pretokenizers/1/add_prefix_space", true},
                                                             {"/pre_tokenizer/pretokenizers/1/use_regex", true},
                                                             {"/added_tokens/3/lstrip", true},
                                                             {"/added_tokens/3/id", -1},
                                                             {"/model/vocab/a", "x"},
                                                             {"/model/vocab/a", -4},
                                                             {"/model/vocab/a", 1e12},
                                                             {"/model/vocab/a", json::array({1})},
                                                             {"/model/vocab/a b", 5000}};
  for (const auto& [pointer, value] : changes) {
    Saved saved;
    saved.tree[json::json_pointer(pointer)] = value;
    const std::size_t second = pointer.find('/', 1);
    expect_refused(saved, pointer.substr(1, second == std::string::npos ? second : second - 1));
  }
}

TEST(VocabularyFile, NamesWhatIsWrongWithATokenizerJson) {
  {
    Saved saved;
    saved.tree["model"]["vocab"].erase("a");
    expect_refused(saved, "single byte 0x61");
  }
  {
    Saved saved;
    saved.tree["model"]["vocab"]["zzz"] = 300;
    expect_refused(saved, "300");
  }
  {
    Saved saved;
    saved.tree["added_tokens"][0]["id"] = 70;
    expect_refused(saved, "70");
  }
  {
    Saved saved;
    saved.tree["added_tokens"][1]["content"] = saved.tree["added_tokens"][0]["content"];
    expect_refused(saved, "twice");
  }
  {
    Saved saved;
    saved.tree["model"].erase("vocab");
    expect_refused(saved, "model.vocab");
  }
  const Saved saved;
  const std::string whole = read_file(saved.folder.path() / "tokenizer.json");
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, whole.size() / 3, whole.size() - 4}) {
    write_file_atomically(saved.folder.path() / "tokenizer.json", whole.substr(0, length));
    EXPECT_ERROR(load_tokenizer(saved.folder.path()), ErrorKind::bad_data, HasSubstr("cut short"));
  }
  for (const char* other :
       {"[]", "3", "{\"model\": 3}", "{\"model\": {\"vocab\": [1, 2]}}", "[[[[{\"vocab\": {}}]]]]"}) {
    write_file_atomically(saved.folder.path() / "tokenizer.json", other);
    EXPECT_ERROR(load_tokenizer(saved.folder.path()), ErrorKind::bad_data, HasSubstr("tokenizer.json"));
  }
}

TEST(VocabularyFile, NamesTheLineOfADamagedRankFile) {
  const std::string whole = read_file(tiny_file());
  const std::pair<std::string, std::string> damages[] = {
      {whole + "YWJj\n", ":662: "},         {whole + "YWJj x\n", "rank"},
      {whole + "YWJj 3\n", "twice"},        {whole + "YW!j 661\n", "base64"},
      {whole + "YWJj 700\n", "661"},        {whole.substr(0, whole.size() / 2), "rank"},
      {whole + "YWJj 661 5\n", ":662: "},   {whole + "YWJj 99999999999999999999\n", ":662: "},
      {whole + "IQ== 661\n", "same bytes"}, {"", "single byte"},
      {std::string(100, '\0'), ":1: "},     {whole.substr(whole.find('\n', 3000) + 1), "missing"}};
  for (const auto& [text, part] : damages) {
    const test::TempFolder folder;
    write_file_atomically(folder.path() / "o200k_base.tiktoken", text);
    EXPECT_ERROR(load_tokenizer(folder.path()), ErrorKind::bad_data,
                 AllOf(HasSubstr("o200k_base.tiktoken"), HasSubstr(part)));
  }
}

TEST(VocabularyFile, LinesMayEndAsOnWindowsAndComeInAnyOrder) {
  const std::string whole = read_file(tiny_file());
  std::string text;
  for (std::size_t at = 0, end = 0; at < whole.size(); at = end + 1) {
    end = whole.find('\n', at);
    text = whole.substr(at, end - at) + "\r\n" + text;
  }
  const test::TempFolder folder;
  write_file_atomically(folder.path() / "o200k_base.tiktoken", text);
  EXPECT_EQ(load_tokenizer(folder.path())->hash(), tiny().hash());
}

TEST(VocabularyFile, NamesAMissingOne) {
  const test::TempFolder folder;
  EXPECT_ERROR(load_tokenizer(folder.path()), ErrorKind::bad_data,
               AllOf(HasSubstr("tokenizer.json"), HasSubstr("tokenizer.path")));
  EXPECT_ERROR(load_tokenizer(folder.path() / "absent.tiktoken"), ErrorKind::bad_data, HasSubstr("absent.tiktoken"));
  EXPECT_ERROR(load_tokenizer(folder.path() / "absent.txt"), ErrorKind::bad_data, HasSubstr("by its name"));
  write_file_atomically(folder.path() / "o200k_base.tiktoken.gz", std::string("\x1F\x8B\x08\0\0\0\0\0\0\x03\x01", 11));
  EXPECT_ERROR(load_tokenizer(folder.path()), ErrorKind::bad_data, HasSubstr("ends too early"));
}

TEST(VocabularyFile, ByteLevelTextIsTheInverseOfItsBytes) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  EXPECT_EQ(byte_level_bytes(byte_level_text(bytes)), bytes);
  EXPECT_EQ(byte_level_text(" \n\x7F"), "\u0120\u010A\u0121");
  EXPECT_EQ(byte_level_text("\xAD"), "\u0143");
  for (const char* wrong : {" ", "\u0144", "\u4E2D", "\xFF", "\u00AD", "\n"})
    EXPECT_EQ(byte_level_bytes(wrong), std::nullopt);
}

}  // namespace
}  // namespace kc
