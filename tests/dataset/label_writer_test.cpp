#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/atomic_file.h"
#include "base/error.h"
#include "dataset/journal.h"
#include "dataset/label_store.h"
#include "tests/dataset/examples.h"

namespace kc {
namespace {

using examples::measurement;
using examples::TemporaryFolder;

TEST(LabelWriter, LabelsAreReadableBeforeAndAfterCompaction) {
  const TemporaryFolder folder;
  LabelWriter writer(folder / "a.h5");
  writer.append(measurement("task", "x", 1));
  EXPECT_EQ(read_store(folder / "a.h5").measurements.size(), 1U);
  EXPECT_FALSE(std::filesystem::exists(folder / "a.h5"));
  writer.compact();
  writer.append(measurement("task", "y", 1));
  EXPECT_EQ(read_store(folder / "a.h5").measurements.size(), 2U);
  const std::string before = read_store(folder / "a.h5").content_hash;
  writer.compact();
  EXPECT_FALSE(std::filesystem::exists(journal_path(folder / "a.h5")));
  EXPECT_EQ(read_store(folder / "a.h5").content_hash, before);
}

TEST(LabelWriter, KnowsWhatIsStoredByKernelAndBuild) {
  const TemporaryFolder folder;
  const Measurement stored = measurement("task", "x", 1);
  LabelWriter(folder / "a.h5").append(stored);
  const LabelWriter writer(folder / "a.h5");
  EXPECT_TRUE(writer.contains(stored));
  Measurement again = stored;
  again.provenance.run_id = "another run";
  again.cases.clear();
  EXPECT_TRUE(writer.contains(again));
  for (auto field :
       {&Provenance::device, &Provenance::compiler, &Provenance::compiler_flags, &Provenance::harness_version}) {
    Measurement other = stored;
    other.provenance.*field = "other";
    EXPECT_FALSE(writer.contains(other));
  }
  Measurement other = stored;
  other.kernel.parameters = {{"A", "1"}};
  EXPECT_FALSE(writer.contains(other));
  other = stored;
  other.task = "other";
  EXPECT_FALSE(writer.contains(other));
}

TEST(LabelWriter, TellsStatesOfATaskApart) {
  const TemporaryFolder folder;
  Measurement silent = measurement("task", "x", 1), telling = measurement("task", "y", 1);
  telling.facts["task_revision"] = 1;
  LabelWriter writer(folder / "a.h5");
  writer.append(silent);
  writer.append(telling);
  EXPECT_TRUE(writer.contains(telling));
  telling.facts["task_revision"] = 2;
  EXPECT_FALSE(writer.contains(telling));
  silent.facts["task_revision"] = 2;
  EXPECT_TRUE(writer.contains(silent)) << "a label that does not say counts as one of the task as it is";
}

TEST(LabelWriter, RowsThatAKilledCompactionLeftInBothPlacesCountOnce) {
  const TemporaryFolder folder;
  {
    LabelWriter writer(folder / "a.h5");
    writer.append(measurement("task", "x", 1));
    writer.append(measurement("task", "y", 1));
    std::filesystem::copy_file(journal_path(folder / "a.h5"), folder / "kept");
    writer.compact();
  }
  std::filesystem::copy_file(folder / "kept", journal_path(folder / "a.h5"));
  EXPECT_EQ(read_store(folder / "a.h5").measurements.size(), 2U);
  LabelWriter(folder / "a.h5").compact();
  EXPECT_EQ(read_store(folder / "a.h5").measurements.size(), 2U);
}

TEST(LabelWriter, OneAtATime) {
  const TemporaryFolder folder;
  {
    const LabelWriter first(folder / "a.h5");
    try {
      const LabelWriter second(folder / "a.h5");
      FAIL() << "two writers";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::environment);
      EXPECT_THAT(error.what(), testing::HasSubstr("another process is writing"));
    }
  }
  EXPECT_NO_THROW(LabelWriter(folder / "a.h5"));
}

TEST(LabelWriter, RefusesWhatNoTableCanKeepBeforeItIsStored) {
  const TemporaryFolder folder;
  LabelWriter writer(folder / "a.h5");
  EXPECT_THROW(writer.append(measurement(std::string("a\0b", 3), "x", 1)), Error);
  writer.append(measurement("task", "x", 1));
  EXPECT_NO_THROW(writer.compact());
}

class SmallDisk {
 public:
  explicit SmallDisk(const std::filesystem::path& path) : path_(path) {
    std::filesystem::create_directories(path);
    mounted_ = ::mount("none", path.c_str(), "tmpfs", 0, "size=256k") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount(path_.c_str());
  }
  bool mounted() const { return mounted_; }

 private:
  std::filesystem::path path_;
  bool mounted_;
};

TEST(LabelWriter, AFullDiskLosesNothingThatWasStored) {
  const TemporaryFolder folder;
  const SmallDisk disk(folder / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small file system needs root";
  const std::filesystem::path file = (folder / "disk") / "a.h5";
  LabelWriter writer(file);
  writer.append(measurement("task", "first", 1));
  writer.compact();
  std::size_t stored = 1;
  ErrorKind kind = ErrorKind::internal;
  std::string big(20000, ' ');
  for (int i = 0; i < 100 && kind == ErrorKind::internal; ++i) {
    for (std::size_t j = 0; j < big.size(); ++j) big[j] = static_cast<char>('a' + (j * j * (i + 3)) % 25);
    try {
      writer.append(measurement("task", big + std::to_string(i), 1));
      ++stored;
    } catch (const Error& error) {
      kind = error.kind();
    }
  }
  EXPECT_EQ(kind, ErrorKind::environment);
  EXPECT_GT(stored, 2U);
  EXPECT_EQ(read_store(file).measurements.size(), stored);
  // Fill the rest: now the compaction has no room for its new file.
  std::ofstream(folder / "disk" / "filler") << std::string(300000, 'x');
  EXPECT_THROW(writer.compact(), Error);
  EXPECT_EQ(read_store(file).measurements.size(), stored);
  std::filesystem::remove(folder / "disk" / "filler");
}

}  // namespace
}  // namespace kc
