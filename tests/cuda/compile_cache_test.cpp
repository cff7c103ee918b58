#include "cuda/compile_cache.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/config.h"
#include "base/hash.h"
#include "cuda/cuda_device.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEntry = 10000;
constexpr std::size_t kNoMemory = 1;  // of the process: everything is found on disk
constexpr std::uintmax_t kLimit = 30 * kEntry;

std::string key(int i) { return sha256_hex(std::to_string(i)); }
CachedCompilation compilation(int i) { return {true, std::to_string(i), std::string(kEntry, static_cast<char>(i))}; }

std::uintmax_t bytes_below(const fs::path& folder) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) bytes += entry.file_size();
  }
  return bytes;
}

// As if it was used so many hours ago.
void make_older(const fs::path& folder, int i, int hours) {
  fs::last_write_time(folder / key(i).substr(0, 2) / key(i),
                      fs::file_time_type::clock::now() - std::chrono::hours(hours));
}

TEST(CompileCache, WhatWasNotUsedForTheLongestTimeGoes) {
  const TempFolder folder;
  CompileCache cache(folder.path(), kNoMemory, kLimit);
  for (int i = 0; i < 25; ++i) {
    cache.keep(key(i), compilation(i), true);
    make_older(folder.path(), i, 100 - i);
  }
  EXPECT_TRUE(CompileCache(folder.path(), kNoMemory, kLimit).find(key(0))) << "use makes it young again";
  for (int i = 100; i < 110; ++i) cache.keep(key(i), compilation(i), true);
  EXPECT_LE(bytes_below(folder.path()), kLimit);
  CompileCache fresh(folder.path(), kNoMemory, kLimit);
  EXPECT_TRUE(fresh.find(key(0)));
  EXPECT_FALSE(fresh.find(key(1)));
  EXPECT_FALSE(fresh.find(key(2)));
  EXPECT_TRUE(fresh.find(key(24)));
  EXPECT_TRUE(fresh.find(key(109)));
}

TEST(CompileCache, AFolderThatWasLeftTooLargeShrinksWithTheFirstCompilation) {
  const TempFolder folder;
  {
    CompileCache generous(folder.path(), kNoMemory, 10 * kLimit);
    for (int i = 0; i < 40; ++i) generous.keep(key(i), compilation(i), true);
  }
  EXPECT_GT(bytes_below(folder.path()), kLimit);
  CompileCache(folder.path(), kNoMemory, kLimit).keep(key(100), compilation(100), true);
  EXPECT_LE(bytes_below(folder.path()), kLimit);
}

TEST(CompileCache, FilesThatItDidNotWriteStay) {
  const TempFolder folder;
  const std::string hex = key(7);
  const std::vector<std::string> others = {"thesis.txt",     hex,         hex.substr(0, 2) + "/notes",
                                           "zz/" + hex,      "00/" + hex, "deep/" + hex.substr(0, 2) + "/" + hex,
                                           "kernels/mine.cu"};
  for (const std::string& name : others) {
    folder.write(name, std::string(2 * kLimit, 'x'));
    fs::last_write_time(folder / name, fs::file_time_type::clock::now() - std::chrono::hours(1000));
  }
  CompileCache cache(folder.path(), kNoMemory, kLimit);
  for (int i = 0; i < 40; ++i) cache.keep(key(i), compilation(i), true);
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(folder / name)) << name;
  EXPECT_TRUE(CompileCache(folder.path(), kNoMemory, kLimit).find(key(39))) << "their size is not the cache's";
}

TEST(CompileCache, ALimitThatIsNoNumberOfBytesIsRefused) {
  const std::vector<std::string> sets = {"cuda.cache_limit_mb=17592186044416"};  // 2^44 MB are 2^64 bytes
  Config config = Config::defaults(sets);
  read_cuda_options(config, HostOptions{});
  EXPECT_ERROR(config.finish(), ErrorKind::config, ::testing::HasSubstr("cache_limit_mb"));
}

TEST(CompileCache, ProcessesThatShareAFolderNeverSeeHalfAnEntry) {
  const TempFolder folder;
  std::vector<pid_t> children;
  for (int child = 0; child < 2; ++child) {
    const pid_t pid = fork();
    if (pid == 0) {
      CompileCache cache(folder.path(), kNoMemory, kLimit);
      for (int i = 0; i < 60; ++i) {
        const int n = (i * 7 + child) % 50;
        cache.keep(key(n), compilation(n), true);
        const int other = (i * 11) % 50;
        const auto found = cache.find(key(other));
        if (found && found->cubin != compilation(other).cubin) _exit(1);
      }
      _exit(0);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_LE(bytes_below(folder.path()), kLimit + 2 * (kLimit / 16 + kEntry + 1000));
  CompileCache(folder.path(), kNoMemory, kLimit).keep(key(200), compilation(200), true);
  EXPECT_LE(bytes_below(folder.path()), kLimit) << "no lock was left behind";
}

}  // namespace
}  // namespace kc::test
