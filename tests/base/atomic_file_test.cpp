#include "base/atomic_file.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <fstream>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using ::testing::HasSubstr;

TEST(AtomicFile, WritesBytesAsTheyAreAndMakesParents) {
  const TempFolder folder;
  const std::string bytes("a\0b\r\n\xff", 6);
  write_file_atomically(folder / "new/deep/file.bin", bytes);
  EXPECT_EQ(read_file(folder / "new/deep/file.bin"), bytes);
}

TEST(AtomicFile, ReplacesAndLeavesNothingBeside) {
  const TempFolder folder;
  write_file_atomically(folder / "file", std::string(100'000, 'x'));
  write_file_atomically(folder / "file", "short");
  EXPECT_EQ(read_file(folder / "file"), "short");
  EXPECT_EQ(folder.count(), 1U);
}

TEST(AtomicFile, WritesIntoTheWorkingFolderByBareName) {
  const TempFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  write_file_atomically("bare", "text");
  fs::current_path(before);
  EXPECT_EQ(read_file(folder / "bare"), "text");
}

// A file size limit stands in for a full disk: write() fails half-way with EFBIG.
TEST(AtomicFile, AFullDiskLeavesTheOldFileAndNoPartialOne) {
  const TempFolder folder;
  write_file_atomically(folder / "file", "old");
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit saved{};
  getrlimit(RLIMIT_FSIZE, &saved);
  const rlimit small{4096, saved.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_ERROR(write_file_atomically(folder / "file", std::string(10'000, 'x')), ErrorKind::environment,
               HasSubstr((folder / "file").string()));
  setrlimit(RLIMIT_FSIZE, &saved);
  std::signal(SIGXFSZ, previous);
  EXPECT_EQ(read_file(folder / "file"), "old");
  EXPECT_EQ(folder.count(), 1U);
}

TEST(AtomicFile, AStreamIsThereWhenItIsCommittedAndLeavesNothingOtherwise) {
  const TempFolder folder;
  folder.write("file", "old");
  {
    const AtomicFile file(folder / "file");
    std::ofstream(file.staging()) << "half";
    EXPECT_EQ(folder.count(), 2U);
  }
  EXPECT_EQ(folder.count(), 1U);
  AtomicFile file(folder / "file");
  std::ofstream(file.staging()) << "whole";
  EXPECT_EQ(read_file(folder / "file"), "old");
  file.commit();
  EXPECT_EQ(read_file(folder / "file"), "whole");
  EXPECT_EQ(folder.count(), 1U);
}

TEST(AtomicFile, WhatAKilledProcessLeftGoes) {
  const TempFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    const AtomicFile file(folder / "file");
    std::ofstream(file.staging()) << "half";
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(folder.count(), 1U);
  write_file_atomically(folder / "file", "whole");
  EXPECT_EQ(folder.count(), 1U);
}

TEST(AtomicFile, AFolderInTheWayIsAnErrorThatNamesThePath) {
  const TempFolder folder;
  folder.write("taken/inside", "x");
  EXPECT_ERROR(write_file_atomically(folder / "taken", "y"), ErrorKind::environment, HasSubstr("taken"));
  EXPECT_ERROR(write_file_atomically(folder / "taken/inside/below", "y"), ErrorKind::environment, HasSubstr("inside"));
}

TEST(AtomicFile, ReadingWhatIsMissingOrAFolderIsBadData) {
  const TempFolder folder;
  EXPECT_ERROR(read_file(folder / "absent"), ErrorKind::bad_data, HasSubstr("absent"));
  EXPECT_ERROR(read_file(folder.path()), ErrorKind::bad_data, HasSubstr(folder.path().string()));
}

TEST(AtomicFolder, AppearsOnlyOnCommit) {
  const TempFolder folder;
  {
    AtomicFolder made(folder / "checkpoint");
    std::ofstream(made.staging() / "weights") << "1";
    EXPECT_FALSE(fs::exists(folder / "checkpoint"));
    made.commit();
    EXPECT_EQ(read_file(folder / "checkpoint/weights"), "1");
  }
  EXPECT_EQ(folder.count(), 2U);
}

TEST(AtomicFolder, WithoutCommitNothingChanges) {
  const TempFolder folder;
  folder.write("checkpoint/weights", "old");
  {
    AtomicFolder made(folder / "checkpoint");
    std::ofstream(made.staging() / "weights") << "new";
  }
  EXPECT_EQ(read_file(folder / "checkpoint/weights"), "old");
  EXPECT_EQ(folder.count(), 2U);
}

TEST(AtomicFolder, ReplacesAnExistingFolderWhole) {
  const TempFolder folder;
  folder.write("checkpoint/weights", "old");
  folder.write("checkpoint/only-in-old", "old");
  AtomicFolder made(folder.path() / "checkpoint/");
  std::ofstream(made.staging() / "weights") << "new";
  made.commit();
  EXPECT_EQ(read_file(folder / "checkpoint/weights"), "new");
  EXPECT_FALSE(fs::exists(folder / "checkpoint/only-in-old"));
  EXPECT_EQ(folder.count(), 2U);
  EXPECT_ERROR(made.commit(), ErrorKind::internal, HasSubstr("twice"));
}

// The child dies by SIGKILL while it writes one folder after the other: whenever that is, the folder is whole.
// As NFS: for the rest of this process renameat2 with flags is an invalid argument.
void refuse_exchanges() {
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
                           BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[4])),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{static_cast<unsigned short>(std::size(program)), program};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    ::_exit(99);
}

// Replaces `path` where folders cannot be exchanged; 0: done, 1: refused before any work.
int replace_without_exchange(const fs::path& path) {
  refuse_exchanges();
  bool begun = false;
  try {
    AtomicFolder writer(path);
    begun = true;
    write_file_atomically(writer.staging() / "name", "new");
    writer.commit();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return begun ? 2 : 1;
  }
  return 0;
}

TEST(AtomicFolder, AFileSystemThatCannotReplaceAFolderIsNamedBeforeTheWork) {
  const TempFolder folder;
  write_file_atomically(folder / "old/name", "old");
  fs::create_directory(folder / "empty");
  EXPECT_EXIT(std::_Exit(replace_without_exchange(folder / "old")), ::testing::ExitedWithCode(1),
              "cannot replace .*/old: .*exchange two folders");
  EXPECT_EQ(read_file(folder / "old/name"), "old");
  EXPECT_EQ(folder.count(), 3U) << "nothing is left beside";
  EXPECT_EXIT(std::_Exit(replace_without_exchange(folder / "empty")), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(std::_Exit(replace_without_exchange(folder / "new")), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(read_file(folder / "empty/name"), "new");
  EXPECT_EQ(read_file(folder / "new/name"), "new");
}

TEST(AtomicFolder, AKilledWriterLeavesAWholeFolderAndTheNextOneCleansUp) {
  const TempFolder folder;
  folder.write("state/a", "0");
  folder.write("state/b", "0");
  for (int round = 0; round < 10; ++round) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int i = 1;; ++i) {
        AtomicFolder made(folder / "state");
        std::ofstream(made.staging() / "a") << i;
        std::ofstream(made.staging() / "b") << i;
        made.commit();
      }
    }
    ::usleep(3000 + 700 * round);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(read_file(folder / "state/a"), read_file(folder / "state/b"));
  }
  {
    const AtomicFolder next(folder / "state");
  }
  EXPECT_EQ(folder.count(), 3U);
}

// /dev/zero has no end.
TEST(ReadFile, RefusesDevices) {
  EXPECT_ERROR(read_file("/dev/zero"), ErrorKind::bad_data, ::testing::HasSubstr("/dev/zero: a device; give a file"));
  EXPECT_EQ(read_file("/dev/null"), "");
}

}  // namespace
}  // namespace kc
