// The lives and deaths of compile workers.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "cuda/compiler.h"
#include "tests/cuda/needs_nvrtc.h"

namespace kc::test {
namespace {

CudaSource source_number(int i) {
  return {"k.cu", "extern \"C\" __global__ void run" + std::to_string(i) + "() {}\n", "sm_90a", {}};
}

// Compile workers whose parent is `parent`.
std::vector<pid_t> workers_of(pid_t parent) {
  std::vector<pid_t> workers;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    if (text.find("(kernelcast-nvrt)") == std::string::npos) continue;
    const std::string rest = text.substr(text.rfind(')') + 2);
    if (rest.substr(2, rest.find(' ', 2) - 2) == std::to_string(parent)) {
      workers.push_back(std::stoi(entry.path().filename()));
    }
  }
  return workers;
}

class CompileWorkers : public ::testing::Test {
 protected:
  void SetUp() override { KC_NEEDS_NVRTC(); }
};

TEST_F(CompileWorkers, LeaveNothingBehind) {
  {
    CudaCompiler compiler({});
    compiler.compile(source_number(0));
    EXPECT_EQ(workers_of(getpid()).size(), 1);
  }
  EXPECT_TRUE(workers_of(getpid()).empty());
}

// A machine with nothing but the wheel has no other place for them, and those of another version are not to be used.
TEST_F(CompileWorkers, TakeTheBuiltinsBesideTheirLibrary) {
  CudaCompiler compiler({});
  ASSERT_TRUE(compiler.compile(source_number(0)).ok);
  const std::vector<pid_t> workers = workers_of(getpid());
  ASSERT_EQ(workers.size(), 1);
  std::ifstream maps("/proc/" + std::to_string(workers[0]) + "/maps");
  const std::string folder = std::filesystem::canonical(compiler.toolkit().nvrtc).parent_path().string() + "/";
  int seen = 0;
  for (std::string line; std::getline(maps, line);) {
    const std::size_t name = line.find("libnvrtc-builtins");
    if (name == std::string::npos) continue;
    ++seen;
    EXPECT_EQ(line.substr(line.find('/'), name - line.find('/')), folder);
  }
  EXPECT_GT(seen, 0);
}

TEST_F(CompileWorkers, OutliveTheThreadsThatStartedThem) {
  CudaCompiler compiler({});
  for (int round = 0; round < 3; ++round) {
    std::vector<CudaSource> sources;
    for (int i = 0; i < 4; ++i) sources.push_back(source_number(10 * round + i));
    for (const CudaBinary& binary : compiler.compile_all(sources)) EXPECT_TRUE(binary.ok) << binary.log;
  }
  EXPECT_EQ(workers_of(getpid()).size(), 2) << "the same two served every round";
}

TEST_F(CompileWorkers, ThatAreKilledCostNoCandidateItsResult) {
  CudaCompiler compiler({});
  std::jthread killer([](const std::stop_token& stop) {
    for (int kills = 0; kills < 4 && !stop.stop_requested(); ++kills) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1100));
      for (const pid_t worker : workers_of(getpid())) kill(worker, SIGKILL);
    }
  });
  for (int i = 0; i < 30; ++i) {
    const CudaBinary binary = compiler.compile(source_number(100 + i));
    EXPECT_TRUE(binary.ok) << binary.log;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

TEST_F(CompileWorkers, EndInTheMiddleOfWorkWhenTheHarnessIsKilled) {
  const pid_t harness = fork();
  if (harness == 0) {
    std::string bomb =
        "template <int N> struct B { static constexpr int v = B<N - 1>::v + 1; };\n"
        "template <> struct B<0> { static constexpr int v = 0; };\n"
        "constexpr long spin(long n) { long s = 0; for (long i = 0; i < n; ++i) s ^= i; return s; }\n";
    for (int i = 0; i < 200; ++i) {
      bomb += "constexpr long v" + std::to_string(i) + " = spin(1000000 - " + std::to_string(i) + ");\n";
    }
    CudaCompiler compiler({});
    compiler.compile({"k.cu", bomb, "sm_90a", {}});
    _exit(0);
  }
  std::vector<pid_t> workers;
  for (int i = 0; i < 200 && workers.empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    workers = workers_of(harness);
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));
  kill(harness, SIGKILL);
  waitpid(harness, nullptr, 0);
  ASSERT_FALSE(workers.empty());
  bool gone = false;
  for (int i = 0; i < 40 && !gone; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    std::ifstream status("/proc/" + std::to_string(workers[0]) + "/stat");
    std::string text;
    std::getline(status, text);
    gone = text.empty() || text.find(") Z ") != std::string::npos;
  }
  EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace kc::test
