// Host code of candidates inside the real runner process, on a driver of ours (stub_driver.cpp).
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cerrno>
#include <fstream>

#include "cuda/gpu_layout.h"
#include "cuda/gpu_link.h"
#include "cuda/gpu_messages.h"
#include "cuda/host_contract.h"
#include "cuda/worker_process.h"
#include "measure/host_environment.h"
#include "measure/landlock.h"
#include "tests/cuda/cuda_task.h"
#include "tests/cuda/host_wrapper.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kBytes = 64;  // of the input and of the output

class HostCodeProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    if (landlock_abi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
    home_.write("secret", "kept\n");
    setenv("LD_LIBRARY_PATH", KC_STUB_DRIVER_FOLDER, 1);
    setenv("CUDA_VISIBLE_DEVICES", ("denied:" + (home_ / "secret").string()).c_str(), 1);
  }
  void TearDown() override {
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("CUDA_VISIBLE_DEVICES");
  }

  std::string library_of(const std::string& body, const std::string& before) {
    const auto contract = read_contract("#pragma kernelcast host\n" + wrapper(body, before));
    EXPECT_TRUE(contract) << contract.error().message;
    const std::filesystem::path folder = folder_.path() / std::to_string(++libraries_);
    const auto result = compile_all(environment_, {host_job(task_.pack(), *contract, {}, "w.cu", folder)}, {}).at(0);
    EXPECT_TRUE(result.ok) << result.log;
    std::ifstream file(folder / kLibraryName, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  // What a runner is told before the launches, and the launches.
  static std::vector<Fields> requests_for(const std::string& library) {
    PlanMessage plan;
    plan.size_count = 1;
    plan.sizes[0] = kBytes / 4;
    plan.inputs = plan.outputs = 1;
    plan.bytes[0] = plan.bytes[1] = kBytes;
    return {{"confine"},
            {"host", to_field(DeviceLimits{}), library},
            prepare_message(plan, "cubin", "instruments", {}),
            {"arm", to_field(TurnMessage{1, 1}), std::string(gpu_layout({kBytes}).bytes, '\1')},
            {"go", to_field(GoMessage{1, 1})}};
  }

  // "ok", or why the first request failed that did.
  std::string outcome(const std::string& body, const std::string& before = "", double timeout_s = 10) {
    const auto link = start_gpu_process(0, "require");
    for (const Fields& request : requests_for(library_of(body, before))) {
      const auto reply = link->call(request, timeout_s, {});
      if (!reply) return link->timed_out() ? "timed out" : link->why_it_ended();
      if (from_field<ReplyMessage>(reply->at(0))->verdict != TurnVerdict::ok) return reply->at(1);
    }
    return "ok";
  }
  // What the body's `errno` was, as `run` returns it.
  int error_of(const std::string& expression, const std::string& before = "") {
    const std::string headers =
        "#include <cerrno>\n#include <csignal>\n#include <cstdlib>\n#include <cstring>\n#include <string>\n"
        "#include <fcntl.h>\n#include <sys/socket.h>\n#include <sys/stat.h>\n#include <unistd.h>\n";
    const std::string text = outcome("  return (" + expression + ") < 0 ? errno : 0;", headers + before);
    int error = 0;
    return std::sscanf(text.c_str(), "the host part's `run` returned %d", &error) == 1 ? error : text == "ok" ? 0 : -1;
  }

  CudaTask task_;
  TempFolder home_;
  TemporaryFolder folder_;
  CompileEnvironment environment_ = make_compile_environment(quick_options(), folder_);
  int libraries_ = 0;
};

TEST_F(HostCodeProcess, RunsAfterItWasConfined) {
  EXPECT_EQ(outcome("  return 0;"), "ok");
  EXPECT_EQ(outcome(kHonestWrapper), "ok") << "on a driver whose calls succeed";
}

TEST_F(HostCodeProcess, AFailureACrashAndAnEndlessRunEndTheirProcessOnly) {
  EXPECT_EQ(outcome("  return 7;"), "the host part's `run` returned 7");
  EXPECT_THAT(outcome("  std::abort();", "#include <cstdlib>\n"), HasSubstr("SIGABRT"));
  EXPECT_THAT(outcome("  throw 1;"), HasSubstr("SIGABRT"));
  EXPECT_THAT(outcome("  return *(volatile int*)8;"), HasSubstr("SIGSEGV"));
  EXPECT_THAT(outcome("  _exit(0);", "#include <unistd.h>\n"), HasSubstr("exit status 0"));
  EXPECT_EQ(outcome("  for (volatile int i = 0;; i = i + 1) {\n  }", "", 0.5), "timed out");
}

TEST_F(HostCodeProcess, StartsNoProgramAndNoProcess) {
  EXPECT_EQ(error_of("fork()"), EPERM);
  EXPECT_EQ(error_of("vfork()"), EPERM);
  EXPECT_EQ(error_of("execl(\"/bin/true\", \"true\", nullptr)"), EPERM);
  EXPECT_THAT(outcome("  return at_load;",
                      "#include <cerrno>\n#include <unistd.h>\n"
                      "static const int at_load = fork() < 0 ? 100 + errno : 0;\n"),
              HasSubstr("returned 101"))
      << "nor in a constructor";
}

TEST_F(HostCodeProcess, HasNoSocketAndSignalsNobody) {
  EXPECT_EQ(error_of("socket(AF_INET, SOCK_STREAM, 0)"), EPERM);
  EXPECT_EQ(error_of("socket(AF_UNIX, SOCK_STREAM, 0)"), EPERM);
  EXPECT_EQ(error_of("kill(getppid(), 0)"), EPERM);
}

TEST_F(HostCodeProcess, ReadsNothingOfOtherProcesses) {
  for (const char* file : {"environ", "maps", "status", "cmdline"}) {
    const std::string path = std::string("(\"/proc/\" + std::to_string(getppid()) + \"/") + file + "\").c_str()";
    EXPECT_EQ(error_of("open(" + path + ", O_RDONLY)"), EACCES) << file << " of the harness";
  }
  EXPECT_EQ(error_of("open(\"/proc/self/maps\", O_RDONLY)"), 0) << "what drivers read of themselves";
}

// The filter knows the calls of one instruction set; those of others must not end a thread alone, which looks like a
// hang.
TEST_F(HostCodeProcess, CallsOfAnotherInstructionSetEndItAtOnce) {
  const std::string headers = "#include <sys/syscall.h>\n#include <unistd.h>\n";
  EXPECT_THAT(outcome("  return (int)syscall(0x40000000 | 57);", headers), HasSubstr("SIGSYS"));
}

TEST_F(HostCodeProcess, WritesToNoFile) {
  EXPECT_EQ(error_of("open((std::string(getenv(\"TMPDIR\")) + \"/new\").c_str(), O_WRONLY | O_CREAT, 0600)"), EACCES);
  EXPECT_EQ(error_of("open(\"" + (home_ / "secret").string() + "\", O_WRONLY)"), EACCES);
  EXPECT_EQ(error_of("open(\"" + (home_ / "secret").string() + "\", O_RDONLY)"), EACCES);
  EXPECT_EQ(error_of("open(\"/tmp/new\", O_WRONLY | O_CREAT, 0600)"), EACCES);
  EXPECT_EQ(error_of("chmod(\"" + (home_ / "secret").string() + "\", 0777)"), EPERM);
  EXPECT_EQ(error_of("truncate(\"" + (home_ / "secret").string() + "\", 0)"), EPERM);
  EXPECT_EQ(error_of("open(\"/dev/null\", O_WRONLY)"), 0) << "a device that the driver may want";
}

TEST_F(HostCodeProcess, NorDoThreadsThatItStarts) {
  const std::string before =
      "#include <pthread.h>\n"
      "static void* tries(void*) {\n"
      "  const int fd = open((std::string(getenv(\"TMPDIR\")) + \"/new\").c_str(), O_WRONLY | O_CREAT, 0600);\n"
      "  return (void*)(long)(fd < 0 && socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM);\n"
      "}\n"
      "static int in_a_thread() {\n"
      "  pthread_t thread;\n"
      "  void* refused = nullptr;\n"
      "  if (pthread_create(&thread, nullptr, tries, nullptr) != 0) return -1;\n"
      "  pthread_join(thread, &refused);\n"
      "  return refused != nullptr ? 0 : (errno = 200, -1);\n"
      "}\n";
  EXPECT_EQ(error_of("in_a_thread()", before), 0);
}

// A driver that works outside the first sandbox only: host code is confined all the same.
TEST_F(HostCodeProcess, IsConfinedWhereTheDriverIsNot) {
  const TemporaryFolder own;
  setenv("CUDA_VISIBLE_DEVICES", ("needs:" + (home_ / "secret").string()).c_str(), 1);
  WorkerProcess process(
      {find_worker_program("kernelcast-gpu", "KERNELCAST_GPU").string(), "0", "outside", own.path()},
      {"LC_ALL=C", std::string("LD_LIBRARY_PATH=") + KC_STUB_DRIVER_FOLDER,
       std::string("CUDA_VISIBLE_DEVICES=") + std::getenv("CUDA_VISIBLE_DEVICES"), "TMPDIR=" + own.path().string()});
  const auto deadline = WorkerProcess::after(10);
  ASSERT_TRUE(process.receive(deadline, {}));
  const std::string body = "  const int file = open(\"" + (home_ / "secret").string() +
                           "\", O_RDONLY);\n  return (file < 0 ? 1 : 0) + (fork() < 0 ? 2 : 0) + 4;";
  std::optional<Fields> reply;
  for (const Fields& request : requests_for(library_of(body, "#include <fcntl.h>\n#include <unistd.h>\n"))) {
    ASSERT_TRUE(process.send(request, deadline, {}));
    reply = process.receive(deadline, {});
    ASSERT_TRUE(reply);
  }
  EXPECT_EQ(reply->at(1), "the host part's `run` returned 7");
}

}  // namespace
}  // namespace kc::test
