#include "dataset/journal.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/atomic_file.h"
#include "base/error.h"
#include "dataset/record.h"
#include "tests/dataset/examples.h"

namespace kc {
namespace {

using examples::TemporaryFolder;

std::string label(int i) { return "void f" + std::to_string(i) + "();"; }

// A journal of three labels, and where each ends.
std::vector<std::uint64_t> write_three(const std::filesystem::path& path) {
  std::vector<std::uint64_t> ends;
  JournalWriter writer(path);
  for (int i = 0; i < 3; ++i) {
    writer.append(examples::measurement("task", label(i), i));
    ends.push_back(std::filesystem::file_size(path));
  }
  return ends;
}

TEST(Journal, GivesBackWhatWasAppended) {
  const TemporaryFolder folder;
  write_three(folder / "j");
  const JournalContents contents = read_journal(folder / "j");
  ASSERT_EQ(contents.measurements.size(), 3U);
  EXPECT_EQ(encode(contents.measurements[2]), encode(examples::measurement("task", label(2), 2)));
  EXPECT_EQ(contents.damaged_places, 0U);
}

TEST(Journal, EveryTornTailLeavesTheWholeRecords) {
  const TemporaryFolder folder;
  const auto ends = write_three(folder / "j");
  const std::string bytes = read_file(folder / "j");
  for (std::size_t size = 0; size <= bytes.size(); size += 13) {
    write_file_atomically(folder / "cut", bytes.substr(0, size));
    std::size_t whole = 0;
    while (whole < ends.size() && ends[whole] <= size) ++whole;
    EXPECT_EQ(read_journal(folder / "cut").measurements.size(), whole) << size;
  }
}

TEST(Journal, ADamagedRecordInTheMiddleCostsOnlyItself) {
  const TemporaryFolder folder;
  const auto ends = write_three(folder / "j");
  const std::string bytes = read_file(folder / "j");
  for (std::uint64_t at = ends[0]; at < ends[1]; at += 7) {
    std::string damaged = bytes;
    damaged[at] ^= 0x40;
    write_file_atomically(folder / "bad", damaged);
    const JournalContents contents = read_journal(folder / "bad");
    ASSERT_EQ(contents.measurements.size(), 2U) << at;
    EXPECT_EQ(contents.measurements[1].kernel.source, label(2));
    EXPECT_EQ(contents.damaged_places, 1U);
  }
}

TEST(Journal, WritingGoesOnAfterATornTail) {
  const TemporaryFolder folder;
  const auto ends = write_three(folder / "j");
  std::filesystem::resize_file(folder / "j", ends[2] - 5);
  JournalWriter(folder / "j").append(examples::measurement("task", label(9), 0));
  const JournalContents contents = read_journal(folder / "j");
  ASSERT_EQ(contents.measurements.size(), 3U);
  EXPECT_EQ(contents.measurements[2].kernel.source, label(9));
}

TEST(Journal, RefusesAnotherFile) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "j", "some other text that is long enough");
  EXPECT_THROW(read_journal(folder / "j"), Error);
}

TEST(Record, RefusesEveryTruncation) {
  const std::string bytes = encode(examples::measurement("task", "x", 1));
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_THROW(decode(bytes.substr(0, size)), Error) << size;
}

}  // namespace
}  // namespace kc
