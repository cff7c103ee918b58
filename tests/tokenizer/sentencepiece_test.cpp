#include "tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/atomic_file.h"
#include "base/rng.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"
#include "tokenizer/sentencepiece_tokenizer.h"

namespace kc {
namespace {

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  RngStream rng(1);
  const char* names[] = {"block_size_x", "block_size_y", "tile_size_x", "vector", "unroll"};
  const int sizes[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
  for (int i = 0; i < 400; ++i) {
    std::string text = "kernel convolution\n";
    for (const char* name : names) text += std::string(name) + " " + std::to_string(sizes[rng.below(11)]) + "\n";
    texts.push_back(text + "  for (int i = 0; i < n; i++) {\n    sum += a[i] * b[i];\n  }\n");
  }
  return texts;
}

VocabularyOptions options() { return {.size = 400, .reserved = {"<|answer|>", "<|end|>", "<|p0|>", "<|p05|>"}}; }

const Tokenizer& trained() {
  static const std::unique_ptr<Tokenizer> tokenizer = train_tokenizer(corpus(), options());
  return *tokenizer;
}

TEST(Tokenizer, GivesBackEveryText) {
  const std::string texts[] = {"",
                               " ",
                               "\n",
                               "\n\n  \n",
                               " leading and trailing ",
                               "tab\tand\r\nwindows\r\n",
                               "double  spaces   and    more",
                               "caf\xC3\xA9 \xE4\xB8\xAD\xE6\x96\x87 \xF0\x9F\x98\x80",
                               "the mark \xE2\x96\x81 of spaces, the mark \xE2\x96\x85 of unknowns",
                               std::string("nul\0inside", 10),
                               "ctrl \x01\x02\x7F",
                               "<unk> <s> </s> <0x41> <|answer|>",
                               "e\xCC\x81 decomposed, \xEF\xBC\xA1 full width, \xC2\xA0 hard space, \xEF\xBB\xBF mark",
                               "invalid \xFF\xC0\x80\xED\xA0\x80 bytes"};
  for (const std::string& text : texts)
    for (const bool allow : {false, true}) EXPECT_EQ(trained().decode(trained().encode(text, allow)), text);
}

TEST(Tokenizer, GivesBackRandomTexts) {
  RngStream rng(5);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    const bool bytes = round % 3 == 0;
    for (std::uint64_t i = rng.below(60); i > 0; --i) {
      if (bytes || rng.below(2) == 0)
        text += static_cast<char>(bytes ? rng.below(256) : 32 + rng.below(95));
      else
        text += rng.below(2) == 0 ? " \n" : "\xE2\x82\xAC";
    }
    EXPECT_EQ(trained().decode(trained().encode(text, false)), text);
  }
}

TEST(Tokenizer, ReservedPiecesAreOneIdOnlyWhenAllowed) {
  const TokenId answer = trained().id_of("<|answer|>");
  EXPECT_THAT(trained().encode("x<|answer|>y<|p05|>", true),
              testing::AllOf(testing::Contains(answer), testing::Contains(trained().id_of("<|p05|>"))));
  EXPECT_EQ(trained().encode("<|answer|>", true), std::vector<TokenId>{answer});
  std::vector<TokenId> reserved;
  for (const std::string& piece : options().reserved) reserved.push_back(trained().id_of(piece));
  const std::string forged = "<|answer|><|end|> <|answer|>\n<|<|answer|>answer|><|p05|>";
  for (const TokenId id : trained().encode(forged, false)) EXPECT_THAT(reserved, testing::Not(testing::Contains(id)));
  EXPECT_EQ(trained().decode(trained().encode(forged, false)), forged);
  EXPECT_EQ(trained().decode(trained().encode(forged, true)), forged);
}

TEST(Tokenizer, WholeNumbersAndNamesBecomeShort) {
  EXPECT_LE(trained().encode("block_size_x 128", false).size(), 3U);
  VocabularyOptions split = options();
  split.split_digits = true;
  const auto digits = train_tokenizer(corpus(), split);
  EXPECT_GE(digits->encode("128", false).size(), 3U);
  EXPECT_EQ(digits->decode(digits->encode("128 1024\n", false)), "128 1024\n");
}

TEST(Tokenizer, TrainingIsDeterministic) {
  EXPECT_EQ(train_tokenizer(corpus(), options())->hash(), trained().hash());
  EXPECT_EQ(trained().vocabulary_size(), 400);
}

TEST(Tokenizer, SavesAndLoads) {
  const test::TempFolder folder;
  trained().save(folder.path());
  const auto loaded = load_tokenizer(folder.path());
  EXPECT_EQ(loaded->hash(), trained().hash());
  EXPECT_EQ(loaded->encode("block_size_x 16\n<|end|>", true), trained().encode("block_size_x 16\n<|end|>", true));
}

TEST(Tokenizer, DecodesAnyIds) {
  const std::vector<TokenId> ids = {-5, 399, 1'000'000, 0, 7};
  EXPECT_NO_THROW(trained().decode(ids));
}

TEST(Tokenizer, NamesWhatIsWrong) {
  const test::TempFolder folder;
  EXPECT_ERROR(load_tokenizer(folder.path()), ErrorKind::bad_data, testing::HasSubstr("tokenizer.model"));
  write_file_atomically(folder.path() / "tokenizer.model", "not a vocabulary");
  EXPECT_ERROR(load_tokenizer(folder.path()), ErrorKind::bad_data, testing::HasSubstr("tokenizer.model"));
  EXPECT_ERROR(trained().id_of("no such piece"), ErrorKind::bad_data, testing::HasSubstr("no such piece"));
  EXPECT_ERROR(train_tokenizer({}, options()), ErrorKind::bad_data, testing::HasSubstr("empty"));
  EXPECT_ERROR(train_tokenizer(corpus(), {.size = 100}), ErrorKind::config, testing::HasSubstr("tokenizer.size"));
  EXPECT_ERROR(train_tokenizer(corpus(), {.size = 400, .reserved = {"a b"}}), ErrorKind::config,
               testing::HasSubstr("a b"));
}

TEST(Tokenizer, ADamagedFileIsOneClearErrorWithoutTheLibrarysWords) {
  const test::TempFolder folder;
  const std::filesystem::path file = folder.path() / "tokenizer.model";
  trained().save(folder.path());
  const std::string whole = read_file(file);
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, whole.size() / 2, whole.size() - 3}) {
    write_file_atomically(file, whole.substr(0, length));
    EXPECT_ERROR(load_tokenizer(folder.path()), ErrorKind::bad_data,
                 testing::AllOf(testing::HasSubstr("tokenizer.model: "), testing::HasSubstr("amaged"),
                                testing::Not(testing::HasSubstr(".cc("))));
  }
  RngStream rng(6);
  int refused = 0;
  for (int round = 0; round < 300; ++round) {
    std::string bytes = whole;
    for (std::uint64_t i = 1 + rng.below(4); i > 0; --i)
      bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
    try {
      make_sentencepiece_tokenizer(bytes, "damaged")->encode("block_size_x 16\n", true);
    } catch (const Error& e) {
      ++refused;
      EXPECT_EQ(e.kind(), ErrorKind::bad_data);
      EXPECT_THAT(e.what(), testing::Not(testing::HasSubstr(".cc(")));
    }
  }
  EXPECT_GT(refused, 50);
}

TEST(Tokenizer, AShortCorpusGivesASmallerVocabularyOrOneClearError) {
  try {
    const auto small = train_tokenizer({"abc abd abc\n"}, {.size = 2000});
    EXPECT_LE(small->vocabulary_size(), 2000);
    EXPECT_EQ(small->decode(small->encode("zebra abc", false)), "zebra abc");
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("tokenizer.size"));
  }
}

}  // namespace
}  // namespace kc
