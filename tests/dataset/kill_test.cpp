// A writer is killed at many moments; no label whose append() had returned may be missing afterwards.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/rng.h"
#include "dataset/label_store.h"
#include "tests/dataset/examples.h"

namespace kc {
namespace {

using examples::TemporaryFolder;

// Appends labels and folds them in now and then, telling the pipe after each append that returned.
[[noreturn]] void write_labels(const std::filesystem::path& file, int first, int pipe) {
  LabelWriter writer(file);
  for (int i = first;; ++i) {
    writer.append(examples::measurement("task", fmt::format("void f{}();", i), 0.01 * i));
    if (::write(pipe, "x", 1) != 1) ::_exit(1);
    if (i % 5 == 4) writer.compact();
  }
}

// Starts a writer, kills it after `microseconds`, returns how many appends it had told of.
int run_and_kill(const std::filesystem::path& file, int first, unsigned microseconds) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    write_labels(file, first, ends[1]);
  }
  ::close(ends[1]);
  ::usleep(microseconds);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  int told = 0;
  char byte = 0;
  while (::read(ends[0], &byte, 1) == 1) ++told;
  ::close(ends[0]);
  return told;
}

TEST(KilledWriter, LosesNoFinishedLabelAndLeavesFilesThatOpen) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "a.h5";
  RngStream rng(7);
  std::string kept;
  std::size_t stored = 0;
  for (int kill = 0; kill < 40; ++kill) {
    const int told = run_and_kill(file, static_cast<int>(stored), 2000 + static_cast<unsigned>(rng.below(60000)));
    const bool anything = std::filesystem::exists(file) || std::filesystem::exists(file.string() + ".journal");
    const Store store = anything ? read_store(file) : Store{};
    ASSERT_GE(store.measurements.size(), stored + static_cast<std::size_t>(told)) << "kill " << kill;
    // At most one label was written but not yet told of.
    ASSERT_LE(store.measurements.size(), stored + static_cast<std::size_t>(told) + 1) << "kill " << kill;
    for (std::size_t i = 0; i < store.measurements.size(); ++i) {
      ASSERT_EQ(store.measurements[i].kernel.source, fmt::format("void f{}();", i));
    }
    stored = store.measurements.size();
    if (std::filesystem::exists(file)) {
      const std::filesystem::path copy = folder / fmt::format("kept{}.h5", kill);
      std::filesystem::copy_file(file, copy);
      kept += " " + copy.string();
    }
  }
  EXPECT_GT(stored, 20U);
  LabelWriter(file).compact();
  EXPECT_EQ(read_store(file).measurements.size(), stored);
  if (!examples::has_h5py()) GTEST_SKIP() << "files opened with our reader only: no Python with h5py here";
  examples::run_h5py(R"(
import h5py, sys
for name in sys.argv[1:]:
    f = h5py.File(name)
    assert len(f['measurements/task'][:]) == len(f['measurements/case_offsets'][:]) - 1
    f['cases/candidate_ns'][:]
)",
                     kept);
}

}  // namespace
}  // namespace kc
