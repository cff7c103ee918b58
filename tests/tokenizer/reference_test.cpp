// Against tiktoken, Hugging Face tokenizers and transformers, where they and the published vocabulary are present.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "tests/support/temp_folder.h"
#include "tests/tokenizer/support.h"
#include "tokenizer/character_symbols.h"

namespace kc {
namespace {

constexpr const char* kNoPackage = "Python's tiktoken or tokenizers is missing: scripts/setup --reference";

double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

struct Parity {
  std::size_t bytes = 0;
  std::size_t tokens = 0;
};

void expect_ids(const Tokenizer& tokenizer, const std::string& text, bool specials, const std::filesystem::path& file) {
  const std::vector<TokenId> expected = test::read_ids(file);
  const std::vector<TokenId> ids = tokenizer.encode(text, specials);
  const auto differs = std::mismatch(ids.begin(), ids.end(), expected.begin(), expected.end());
  EXPECT_EQ(ids.size(), expected.size()) << file;
  EXPECT_TRUE(ids == expected) << file << ": ids differ from number " << differs.first - ids.begin() << " on";
  EXPECT_TRUE(tokenizer.decode(ids) == text) << file;
}

// Compares every text of the folder with the ids that `package` gave it. Names of special tokens in it are text.
void compare(const Tokenizer& tokenizer, const std::filesystem::path& folder, const std::string& package,
             Parity& parity) {
  for (const char* name : {"kernels", "mixed", "characters", "bytes", "runs"}) {
    const std::string text = read_file(folder / (std::string(name) + ".txt"));
    const std::filesystem::path file = folder / (std::string(name) + "." + package + ".i32");
    expect_ids(tokenizer, text, false, file);
    parity.bytes += text.size();
    parity.tokens += std::filesystem::file_size(file) / sizeof(TokenId);
  }
}

// Likewise, where those names are special tokens: of o200k_harmony, or those that the tokenizer.json adds.
void compare_named(const Tokenizer& tokenizer, const std::filesystem::path& folder, const std::string& package) {
  const std::string text = read_file(folder / "named.txt");
  ASSERT_NE(text.find("<|end|>"), std::string::npos);
  expect_ids(tokenizer, text, true, folder / ("named." + package + ".i32"));
}

TEST(TokenizerReference, TenMegabytesOfMixedTextHaveTheIdsOfTiktoken) {
  if (test::o200k() == nullptr) GTEST_SKIP() << test::kNoO200k;
  const test::TempFolder folder;
  const int code = test::run_reference("parity " + folder.path().string() + " " + test::o200k_file().string() +
                                       " --bundle " + test::shared_data().string() + " --megabytes 10");
  if (code == test::kPackageMissing) GTEST_SKIP() << kNoPackage;
  ASSERT_EQ(code, 0);
  Parity parity;
  compare(*test::o200k(), folder.path(), "tiktoken", parity);
  compare_named(*test::o200k(), folder.path(), "tiktoken");
  EXPECT_GE(parity.bytes, 10'000'000U);
  std::printf("tiktoken: %zu bytes, %zu tokens equal\n", parity.bytes, parity.tokens);
}

// Our tokenizer.json, read by tokenizers; and transformers' own tokenizer.json, read by us.
TEST(TokenizerReference, TenMegabytesHaveTheIdsOfTokenizersFromEitherFile) {
  if (test::o200k() == nullptr) GTEST_SKIP() << test::kNoO200k;
  const test::TempFolder folder;
  test::o200k()->save(folder.path());
  const std::string ours = (folder.path() / "tokenizer.json").string();
  const std::string theirs = (folder.path() / "converted.json").string();
  const std::string parity_call = "parity " + folder.path().string() + " " + test::o200k_file().string() +
                                  " --bundle " + test::shared_data().string() + " --megabytes 6 --kernels 4.2 --json ";
  const int code = test::run_reference("convert " + test::o200k_file().string() + " " + theirs);
  if (code == test::kPackageMissing) GTEST_SKIP() << kNoPackage;
  ASSERT_EQ(code, 0);
  double start = processor_seconds();
  const auto converted = load_tokenizer(theirs);
  std::printf("tokenizer.json of %ju bytes read in %.3f s\n", std::filesystem::file_size(theirs),
              processor_seconds() - start);
  EXPECT_LT(processor_seconds() - start, 2.0);
  EXPECT_EQ(converted->vocabulary_size(), 200'019);  // specials up to <|endofprompt|>, as the published file has them
  EXPECT_EQ(converted->id_of("<|call|>"), 200'012);
  for (const std::string& json : {ours, theirs}) {
    ASSERT_EQ(test::run_reference(parity_call + json), 0);
    Parity parity;
    compare(*converted, folder.path(), "tokenizers", parity);
    compare(*test::o200k(), folder.path(), "tokenizers", parity);
    compare_named(json == ours ? *test::o200k() : *converted, folder.path(), "tokenizers");
    EXPECT_GE(parity.bytes / 2, 10'000'000U);
    std::printf("tokenizers: %zu bytes, %zu tokens equal\n", parity.bytes / 2, parity.tokens / 2);
  }
}

TEST(TokenizerReference, TransformersOpensTheFolderThatWeWrite) {
  if (test::o200k() == nullptr) GTEST_SKIP() << test::kNoO200k;
  const test::TempFolder folder;
  test::o200k()->save(folder.path());
  const std::string text = "Kernel\u2019s <|start|>user<|message|>x  1234\n\n<|end|>\u4E2D";
  write_file_atomically(folder.path() / "text.txt", text);
  const int code = test::run_reference("transformers " + folder.path().string());
  if (code == test::kPackageMissing) GTEST_SKIP() << kNoPackage;
  ASSERT_EQ(code, 0);
  EXPECT_EQ(test::read_ids(folder.path() / "text.i32"), test::o200k()->encode(text, true));
  EXPECT_EQ(read_file(folder.path() / "decoded.txt"), text);
  EXPECT_EQ(read_file(folder.path() / "named.txt"), "<|startoftext|> <|return|> <|endoftext|>");
}

TEST(TokenizerReference, EveryCharacterHasTheClassThatTiktokenGivesIt) {
  const test::TempFolder folder;
  const std::filesystem::path file = folder.path() / "classes";
  const int code = test::run_reference("classes " + file.string());
  if (code == test::kPackageMissing) GTEST_SKIP() << kNoPackage;
  ASSERT_EQ(code, 0);
  const std::string theirs = read_file(file);
  ASSERT_EQ(theirs.size(), 0x110000U);
  const std::string letters = "UlomnS";
  std::size_t different = 0;
  for (std::uint32_t point = 0x80; point < 0x110000; ++point) {
    if (point >= 0xD800 && point < 0xE000) continue;
    const std::uint8_t symbol = symbol_of(point);
    const char ours = symbol == symbol_other ? '.' : symbol == symbol_long_s ? 'l' : letters[symbol - 0x80U];
    different += ours != theirs[point];
  }
  EXPECT_EQ(different, 0U);
}

}  // namespace
}  // namespace kc
