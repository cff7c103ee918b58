// What a candidate may not do to the machine, and that nothing of it stays behind.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/measure/task_files.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

std::string honest_and(const std::string& before, const std::string& statements) {
  return before +
         "\nvoid run(const Case* c, const void* const* inputs, void* const* outputs) {\n"
         "  const float* x = (const float*)inputs[0]; float* y = (float*)outputs[0];\n" +
         statements + "\n  for (long long i = 0; i < c->N; ++i) y[i] = 2.0f * x[i] + 1.0f;\n}\n";
}

class HostLimitsTest : public ::testing::Test {
 protected:
  void expect_runtime_error(const std::string& source, const std::string& log) {
    const Measurement result = measure_source(pack_, source);
    EXPECT_EQ(name_of(result.status), "runtime_error") << result.log;
    EXPECT_THAT(result.log, HasSubstr(log));
  }

  TaskFiles files_;
  TaskPack pack_ = load_task_pack(files_.path());
};

TEST_F(HostLimitsTest, ForkIsRefused) {
  expect_runtime_error(honest_and("#include <unistd.h>", "for (;;) fork();"), "not allowed: clone");
}

TEST_F(HostLimitsTest, AnotherProgramIsRefused) {
  expect_runtime_error(honest_and("#include <unistd.h>", "execl(\"/bin/true\", \"true\", (char*)0);"),
                       "not allowed: execve");
}

TEST_F(HostLimitsTest, ThreadIsRefusedWhereTheTaskDeclaresNone) {
  expect_runtime_error(honest_and("#include <pthread.h>\nstatic void* idle(void*) { return 0; }",
                                  "pthread_t t; pthread_create(&t, 0, idle, 0);"),
                       "not allowed: ");
}

TEST_F(HostLimitsTest, SocketIsRefused) {
  expect_runtime_error(honest_and("#include <sys/socket.h>", "socket(AF_INET, SOCK_STREAM, 0);"),
                       "not allowed: socket");
}

TEST_F(HostLimitsTest, SignalToAnotherProcessIsRefused) {
  expect_runtime_error(honest_and("#include <signal.h>\n#include <unistd.h>", "kill(getppid(), SIGTERM);"),
                       "not allowed: ");
}

TEST_F(HostLimitsTest, FillingMemoryIsARuntimeError) {
  expect_runtime_error(
      honest_and("#include <stdlib.h>\n#include <string.h>", "for (;;) memset(malloc(64 << 20), 1, 64 << 20);"),
      "SIGSEGV");
  expect_runtime_error(honest_and("#include <new>", "for (;;) *(volatile char*)(new char[64 << 20]) = 1;"), "SIGABRT");
}

TEST_F(HostLimitsTest, EndlessRecursionIsARuntimeError) {
  expect_runtime_error(
      honest_and("static int dive(volatile int* p) { volatile int q[1000]; q[0] = *p; return dive(q) + q[0]; }",
                 "volatile int z = 0; y[0] = (float)dive(&z);"),
      "SIGSEGV");
}

TEST_F(HostLimitsTest, WritingAGigabyteIsARuntimeErrorAndLeavesNoFile) {
  const TempFolder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  const std::string file = (folder / "gigabyte").string();
  expect_runtime_error(honest_and("#include <stdio.h>\nstatic char block[1 << 20];",
                                  "FILE* f = fopen(\"" + file +
                                      "\", \"w\"); for (int i = 0; i < 1024; ++i) "
                                      "fwrite(block, 1, sizeof block, f); fclose(f);"),
                       "not allowed: openat");
  EXPECT_EQ(folder.count(), 0);
}

TEST_F(HostLimitsTest, FilesOfTheMachineAreOutOfSight) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs a root folder of its own, which not every user may have";
  const Measurement result = measure_source(
      pack_, honest_and("#include <fcntl.h>", "if (open(\"/etc/passwd\", O_RDONLY) >= 0) { y[0] = 0; return; }"));
  EXPECT_EQ(name_of(result.status), "ok") << result.log;
}

TEST_F(HostLimitsTest, FirstLinesOnStandardOutputGoNowhereAndDoNoHarm) {
  const Measurement result =
      measure_source(pack_, honest_and("#include <stdio.h>", "puts(\"0.001 ns\"); fflush(stdout);"));
  EXPECT_EQ(name_of(result.status), "ok") << result.log;
}

TEST_F(HostLimitsTest, DeclaredThreadsMayRunButNotOutsideOfTimedRuns) {
  TaskPack pack = pack_;
  pack.threads = 2;
  const std::string joined = honest_and("#include <pthread.h>\nstatic void* idle(void*) { return 0; }",
                                        "pthread_t t; pthread_create(&t, 0, idle, 0); pthread_join(t, 0);");
  const Measurement honest = measure_source(pack, joined);
  EXPECT_EQ(name_of(honest.status), "ok") << honest.log;
  const std::string hidden =
      honest_and("#include <pthread.h>\nstatic void* spin(void*) { for (;;) asm volatile(\"\"); }",
                 "static pthread_t t; if (!t) pthread_create(&t, 0, spin, 0);");
  const Measurement cheat = measure_source(pack, hidden);
  EXPECT_EQ(name_of(cheat.status), "runtime_error") << cheat.log;
  EXPECT_THAT(cheat.log, HasSubstr("outside of its timed runs"));
}

TEST_F(HostLimitsTest, NothingStaysBehind) {
  const TempFolder temporary;
  std::filesystem::permissions(temporary.path(), std::filesystem::perms(0755));
  const char* before = std::getenv("TMPDIR");
  const std::string restored = before != nullptr ? before : "";
  ::setenv("TMPDIR", temporary.path().c_str(), 1);
  for (const char* statements : {"for (;;) asm volatile(\"\");", "__builtin_trap();", ";"}) {
    measure_source(pack_, honest_and("", statements));
  }
  restored.empty() ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", restored.c_str(), 1);
  EXPECT_EQ(temporary.count(), 0);
  std::string children;
  std::getline(std::ifstream("/proc/thread-self/children"), children);
  EXPECT_EQ(children, "");
}

}  // namespace
}  // namespace kc::test
