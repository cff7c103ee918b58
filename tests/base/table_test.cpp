#include "base/table.h"

#include "tests/support/expect_error.h"

namespace kc {
namespace {

using ::testing::HasSubstr;

TEST(Table, AlignsNumbersRightAndTextLeft) {
  Table table({"metric", "value"});
  table.add_row({"brier", "0.21"});
  table.add_rule();
  table.add_row({"loss", "-12.5"});
  table.add_row({"none", "-"});
  EXPECT_EQ(table.render(),
            "metric  value\n"
            "──────  ─────\n"
            "brier    0.21\n"
            "──────  ─────\n"
            "loss    -12.5\n"
            "none        -\n");
}

TEST(Table, MeasuresWidthInCharactersAndKeepsMixedColumnsLeft) {
  Table table({"é", "id"});
  table.add_row({"ééé", "7"});
  table.add_row({"x", "a7"});
  EXPECT_EQ(table.render(), "é    id\n───  ──\nééé  7\nx    a7\n");
}

TEST(Table, TakesIntervalsAndPercentForNumbers) {
  Table table({"v"});
  for (const char* cell : {"0.2 [0.1, 0.3]", "84 %", "1.5e-3", "±0.1", "2.0x"}) table.add_row({cell});
  EXPECT_THAT(table.render(), HasSubstr("\n          84 %\n"));
}

TEST(Table, ARowOfAnotherLengthIsABug) {
  Table table({"a", "b"});
  EXPECT_ERROR(table.add_row({"1"}), ErrorKind::internal, HasSubstr("2 columns"));
}

TEST(Table, CellsSendNoControlCharacters) {
  Table table({"name", "n"});
  table.add_row({"a\x1b[2J\nb", "1"});
  EXPECT_EQ(table.render(), "name         n\n───────────  ─\na\\x1b[2J\\nb  1\n");
}

TEST(Bar, FillsEighthsOfCells) {
  EXPECT_EQ(bar(0.0, 3), "   ");
  EXPECT_EQ(bar(1.0, 3), "███");
  EXPECT_EQ(bar(0.5, 3), "█▌ ");
  EXPECT_EQ(bar(0.125, 1), "▏");
}

TEST(Bar, StaysInItsWidthForAnyFraction) {
  EXPECT_EQ(bar(7.0, 2), "██");
  EXPECT_EQ(bar(-1.0, 2), "  ");
  EXPECT_EQ(bar(std::numeric_limits<double>::quiet_NaN(), 2), "  ");
  EXPECT_EQ(bar(0.5, 0), "");
}

}  // namespace
}  // namespace kc
