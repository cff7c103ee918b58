#include "base/json.h"

#include <zlib.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc {
namespace {

using nlohmann::json;
using test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::filesystem::path write_gzip(const std::filesystem::path& path, const std::string& text) {
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path;
}

std::vector<std::pair<std::size_t, json>> lines_of(const std::filesystem::path& path) {
  std::vector<std::pair<std::size_t, json>> lines;
  for_each_json_line(path, [&](const json& value, std::size_t number) { lines.emplace_back(number, value); });
  return lines;
}

TEST(JsonFile, IsRefusedWhereItIsNestedTooDeep) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_ERROR(parse_json("{\"a\":" + nested(200000) + "}", "x.json"), ErrorKind::bad_data,
               AllOf(HasSubstr("x.json"), HasSubstr("deep")));
  EXPECT_NO_THROW(parse_json(nested(400), "x.json"));
}

TEST(Json, BracketsInTextsNestNothing) {
  EXPECT_TRUE(nested_too_deep(std::string(1'000'000, '[')));
  EXPECT_TRUE(nested_too_deep("{\"a\\\"\": " + std::string(600, '{')));
  EXPECT_FALSE(nested_too_deep("[\"\\\"" + std::string(600, '[') + "\"]"));
  std::string flat = "[";
  for (int i = 0; i < 600; ++i) flat += "[{}],";
  EXPECT_FALSE(nested_too_deep(flat));
}

TEST(Json, ValuesInMessagesAreShort) {
  EXPECT_EQ(shown(1.5), "1.5");
  EXPECT_EQ(shown("a\xff"), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(shown({1, -2, "x"}), "[1,-2,\"x\"]");
  EXPECT_EQ(shown({{1}, {2}}), "a list");
  EXPECT_EQ(shown(std::vector<int>(1000)), "a list");
  EXPECT_EQ(shown({{"a", 1}}), "an object");
  EXPECT_LT(shown(std::string(10000, 'x')).size(), 200);
  json deep;
  for (int i = 0; i < 200000; ++i) deep = json::array({std::move(deep)});
  EXPECT_EQ(shown(deep), "a list");
}

TEST(JsonFile, RoundTripsWithIndentationAndFinalNewline) {
  const TempFolder folder;
  const json value = {{"a", 1}, {"b", {0.1, "é"}}};
  write_json_file(folder / "x.json", value);
  EXPECT_EQ(read_json_file(folder / "x.json"), value);
  EXPECT_EQ(read_file(folder / "x.json"), "{\n  \"a\": 1,\n  \"b\": [\n    0.1,\n    \"é\"\n  ]\n}\n");
}

TEST(JsonFile, AKeyThatAnObjectHoldsTwiceIsNamed) {
  const TempFolder folder;
  for (const char* text : {R"({"tokens": [1], "n": 2, "tokens": [3]})", R"([{"a": {"tokens": 1, "tokens": 1}}])"})
    EXPECT_ERROR(read_json_file(folder.write("x.json", text)), ErrorKind::bad_data,
                 AllOf(HasSubstr("x.json"), HasSubstr("\"tokens\""), HasSubstr("twice")));
  EXPECT_EQ(read_json_file(folder.write("x.json", R"([{"a": 1}, {"a": 2, "b": {"a": 3}}])")).size(), 2U);
}

TEST(JsonFile, NumbersThatJsonLacksBecomeNullAndBrokenUtf8IsReplaced) {
  const TempFolder folder;
  const double infinity = std::numeric_limits<double>::infinity();
  write_json_file(folder / "x.json", json{{"nan", std::nan("")}, {"inf", -infinity}, {"log", "bad \xff byte"}});
  const json read = read_json_file(folder / "x.json");
  EXPECT_TRUE(read["nan"].is_null());
  EXPECT_TRUE(read["inf"].is_null());
  EXPECT_EQ(read["log"], "bad \xEF\xBF\xBD byte");
}

TEST(JsonFile, FaultsNameFileAndPosition) {
  const TempFolder folder;
  folder.write("bad.json", "{\n  \"a\": ,\n}");
  EXPECT_ERROR(read_json_file(folder / "bad.json"), ErrorKind::bad_data,
               AllOf(HasSubstr("bad.json"), HasSubstr("line 2")));
  EXPECT_ERROR(read_json_file(folder / "none.json"), ErrorKind::bad_data, HasSubstr("none.json"));
}

TEST(JsonLines, CountsEmptyLinesAndAcceptsAMissingFinalNewline) {
  const TempFolder folder;
  const auto lines = lines_of(folder.write("x.jsonl", "{\"a\":1}\n\n  \r\n[2]\r\n3"));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0], std::pair(std::size_t{1}, json{{"a", 1}}));
  EXPECT_EQ(lines[1], std::pair(std::size_t{4}, json::array({2})));
  EXPECT_EQ(lines[2], std::pair(std::size_t{5}, json(3)));
}

TEST(JsonLines, ReadsGzipAndLinesLongerThanTheBuffer) {
  const TempFolder folder;
  const std::string longer(200'000, 'k');
  const std::string text = json{{"code", longer}}.dump() + "\n" + json(7).dump() + "\n";
  const auto lines = lines_of(write_gzip(folder / "x.jsonl.gz", text));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].second["code"], longer);
  EXPECT_EQ(lines[1].second, 7);
}

TEST(JsonLines, FaultsNameFileAndLine) {
  const TempFolder folder;
  folder.write("x.jsonl", "1\n{\"a\"\n");
  EXPECT_ERROR(lines_of(folder / "x.jsonl"), ErrorKind::bad_data, HasSubstr("x.jsonl:2:"));
  EXPECT_ERROR(lines_of(folder / "none.jsonl"), ErrorKind::bad_data, HasSubstr("none.jsonl"));
  EXPECT_ERROR(lines_of(folder.path()), ErrorKind::bad_data, HasSubstr("directory"));
}

TEST(JsonLines, ALineThatIsNestedTooDeepIsNamed) {
  const TempFolder folder;
  const std::string open(1'000'000, '['), close(1'000'000, ']');
  folder.write("x.jsonl", "1\n{\"a\": " + open + close + "}\n");
  folder.write("open.jsonl", open);
  EXPECT_ERROR(lines_of(folder / "x.jsonl"), ErrorKind::bad_data, AllOf(HasSubstr("x.jsonl:2:"), HasSubstr("deep")));
  EXPECT_ERROR(lines_of(folder / "open.jsonl"), ErrorKind::bad_data, HasSubstr("open.jsonl:1:"));
}

TEST(JsonLines, ATruncatedGzipFileIsAnErrorNotAnEarlyEnd) {
  const TempFolder folder;
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i * 7919 % 10'007) + "\n";
  write_gzip(folder / "x.gz", text);
  const std::string whole = read_file(folder / "x.gz");
  folder.write("cut.gz", whole.substr(0, whole.size() / 2));
  EXPECT_ERROR(lines_of(folder / "cut.gz"), ErrorKind::bad_data, HasSubstr("cut.gz"));
}

TEST(JsonLines, AnErrorOfTheVisitorPassesThrough) {
  const TempFolder folder;
  folder.write("x.jsonl", "1\n");
  const auto refuse = [](const json& value, std::size_t) { static_cast<void>(value.at("missing")); };
  EXPECT_THROW(for_each_json_line(folder / "x.jsonl", refuse), json::exception);
}

TEST(JsonLinesWriter, EachLineIsInTheFileAtOnce) {
  const TempFolder folder;
  JsonLinesWriter writer(folder / "logs/metrics.jsonl", JsonLinesWriter::Mode::truncate);
  writer.write({{"step", 1}});
  EXPECT_EQ(read_file(folder / "logs/metrics.jsonl"), "{\"step\":1}\n");
  writer.write("two\nlines");
  EXPECT_EQ(read_file(folder / "logs/metrics.jsonl"), "{\"step\":1}\n\"two\\nlines\"\n");
}

TEST(JsonLinesWriter, AppendingCutsAHalfLastLine) {
  const TempFolder folder;
  folder.write("x.jsonl", "1\n2\n{\"half");
  JsonLinesWriter(folder / "x.jsonl", JsonLinesWriter::Mode::append_repairing).write(3);
  EXPECT_EQ(read_file(folder / "x.jsonl"), "1\n2\n3\n");
  JsonLinesWriter(folder / "x.jsonl", JsonLinesWriter::Mode::append_repairing).write(4);
  EXPECT_EQ(read_file(folder / "x.jsonl"), "1\n2\n3\n4\n");
  JsonLinesWriter(folder / "x.jsonl", JsonLinesWriter::Mode::truncate).write(5);
  EXPECT_EQ(read_file(folder / "x.jsonl"), "5\n");
}

TEST(JsonLinesWriter, AFullDiskIsAnError) {
  JsonLinesWriter writer("/dev/full", JsonLinesWriter::Mode::truncate);
  EXPECT_ERROR(writer.write(1), ErrorKind::environment, HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace kc
