#include "measure/process.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "measure/host_device.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

SpawnSpec shell(const std::string& script) {
  return {.arguments = {"/bin/sh", "-c", script}, .environment = {"PATH=/usr/bin:/bin"}, .fds = {}, .folder = {}};
}

TEST(Process, KillsTheWholeGroupWhenTheLeaderEnds) {
  const TempFolder folder;
  const std::string file = (folder / "pid").string();
  ProcessGroup group = spawn(shell("sleep 100 & echo $! > " + file + "; exit 7"));
  while (!group.has_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(describe_end(group.status()), "exit status 7");
  pid_t orphan = 0;
  std::ifstream(file) >> orphan;
  ASSERT_GT(orphan, 0);
  for (int i = 0; i < 200 && ::kill(orphan, 0) == 0; ++i) {
    std::string line;
    std::ifstream stat("/proc/" + std::to_string(orphan) + "/stat");
    std::getline(stat, line);
    if (line.find(") Z ") != std::string::npos) return;  // dead, waiting for init
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_NE(::kill(orphan, 0), 0);
}

TEST(Process, NamesTheSignalThatEndedAProcess) {
  ProcessGroup group = spawn(shell("kill -SEGV $$"));
  while (!group.has_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_THAT(describe_end(group.status()), HasSubstr("SIGSEGV"));
}

TEST(Process, DestructorEndsARunningProcess) {
  pid_t pid = 0;
  {
    const ProcessGroup group = spawn(shell("sleep 100"));
    pid = group.pid();
    EXPECT_EQ(::kill(pid, 0), 0);
  }
  EXPECT_NE(::kill(pid, 0), 0);
}

TEST(Process, AFolderOfPathIsNoProgram) {
  const TempFolder folder;
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", folder.path().c_str(), 1);
  std::filesystem::create_directory(folder / "below");
  EXPECT_ERROR(find_program(""), ErrorKind::environment, HasSubstr("''"));
  EXPECT_ERROR(find_program("below"), ErrorKind::environment, HasSubstr("below"));
  EXPECT_ERROR(find_program(folder / "below"), ErrorKind::environment, HasSubstr("below"));
  ::setenv("PATH", before.c_str(), 1);
}

TEST(Process, AnEmptyNameOfACompilerIsAFaultOfTheConfiguration) {
  for (const char* key : {"measure.compiler", "measure.c_compiler"}) {
    Config config = Config::defaults(std::vector{std::string(key) + "="});
    read_host_options(config);
    EXPECT_ERROR(config.finish(), ErrorKind::config,
                 HasSubstr("'" + std::string(key) + "' is empty; expected a program"));
  }
}

TEST(Process, SaysWhichProgramIsMissing) {
  EXPECT_ERROR(find_program("no-such-compiler"), ErrorKind::environment, HasSubstr("no-such-compiler"));
  EXPECT_ERROR(spawn({.arguments = {"/no/such/program"}, .environment = {}, .fds = {}, .folder = {}}),
               ErrorKind::environment, HasSubstr("/no/such/program"));
}

TEST(Process, TemporaryFolderGoesWithItsObjectAndSoDoThoseOfDeadProcesses) {
  const auto dead = std::filesystem::temp_directory_path() / "kernelcast-4194303-leftover";
  std::filesystem::create_directory(dead);
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    EXPECT_TRUE(std::filesystem::exists(path));
    EXPECT_FALSE(std::filesystem::exists(dead));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace kc::test
