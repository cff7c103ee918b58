// The isolation of kernelcast-gpu: what the driver needs is open, the rest is closed.
#include "cuda/gpu_sandbox.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <thread>

#include "cuda/gpu_link.h"
#include "cuda/gpu_messages.h"
#include "measure/runner_protocol.h"
#include "tests/cuda/fake_gpu.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

// 0, or the error of opening the file.
int open_error(const std::string& path, int flags = O_RDONLY) {
  const int fd = open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

int socket_error(int family) {
  const int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  close(fd);
  return 0;
}

class GpuSandbox : public ::testing::Test {
 protected:
  void SetUp() override {
    home_.write("secret", "kept\n");
    if (landlock_abi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  }

  // What `probe` returns inside the sandbox, in a process of its own.
  int inside(const std::function<int()>& probe) const {
    const pid_t pid = fork();
    if (pid == 0) {
      const std::uint32_t missing = enter_gpu_sandbox(own_.path().string(), {});
      _exit((missing & (kNoLandlock | kNoSystemCallFilter)) != 0 ? 255 : probe());
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  TempFolder home_;  // as $HOME is: below no folder of the system
  TempFolder own_;
};

TEST_F(GpuSandbox, ClosesFilesOfUsers) {
  EXPECT_EQ(inside([&] { return open_error((home_ / "secret").string()); }), EACCES);
  EXPECT_EQ(inside([&] { return open_error((home_ / "new").string(), O_WRONLY | O_CREAT); }), EACCES);
  const char* home = std::getenv("HOME");
  if (home != nullptr && std::filesystem::is_directory(home)) {
    EXPECT_EQ(inside([&] { return open_error(std::string(home) + "/new-file", O_WRONLY | O_CREAT); }), EACCES);
  }
  EXPECT_EQ(inside([] { return open_error("/etc/passwd"); }), EACCES);
  EXPECT_EQ(inside([] { return open_error("/usr/new-file", O_WRONLY | O_CREAT); }), EACCES);
}

TEST_F(GpuSandbox, ClosesNetworkAndPrograms) {
  EXPECT_EQ(inside([] { return socket_error(AF_INET); }), EPERM);
  EXPECT_EQ(inside([] { return socket_error(AF_NETLINK); }), EPERM);
  EXPECT_EQ(inside([] {
              execl("/bin/true", "true", nullptr);
              return errno;
            }),
            EPERM);
  EXPECT_EQ(inside([] {
              const pid_t pid = fork();
              if (pid == 0) _exit(0);
              return pid < 0 ? errno : 0;
            }),
            EPERM);
}

TEST_F(GpuSandbox, LeavesOpenWhatTheDriverIsKnownToUse) {
  EXPECT_EQ(inside([&] { return open_error((own_ / "file").string(), O_RDWR | O_CREAT); }), 0);
  EXPECT_EQ(inside([] { return open_error("/dev/null", O_RDWR); }), 0);
  EXPECT_EQ(inside([] { return open_error("/proc/meminfo"); }), 0);
  EXPECT_EQ(inside([] { return open_error("/sys/devices/system/cpu/online"); }), 0);
  EXPECT_EQ(inside([] { return socket_error(AF_UNIX); }), 0);
  EXPECT_EQ(inside([] { return memfd_create("driver", MFD_CLOEXEC) < 0 ? errno : 0; }), 0);
  // Another thread's name, through /proc: that is how the driver names its threads.
  EXPECT_EQ(inside([] {
              int error = -1;
              std::thread([&error] {
                const std::string own = "/proc/" + std::to_string(getpid()) + "/task/" + std::to_string(gettid());
                error = open_error(own + "/comm", O_WRONLY);
              }).join();
              return error;
            }),
            0);
}

TEST_F(GpuSandbox, NamesTheDevicesOfThisMachine) {
  bool own_is_writable = false;
  for (const LandlockPath& path : gpu_paths("/private", {"/opt/cublas"})) {
    if (path.path == "/private") own_is_writable = path.writable;
    EXPECT_TRUE(!path.writable || path.path.starts_with("/dev/") || path.path == "/proc/self" ||
                path.path == "/private")
        << path.path;
  }
  EXPECT_TRUE(own_is_writable);
}

TEST_F(GpuSandbox, ARunnerWorksInIt) {
  const auto run = [] {
    FakeWorld world;
    world.kernels["run"] = [](FakeLaunch& launch) { launch.buffers.at(1)[0] = std::byte{7}; };
    FakeDriver driver(world);
    GpuRunner runner(driver, kFakeL2);
    PlanMessage plan;
    plan.inputs = 1;
    plan.outputs = 1;
    plan.bytes[0] = plan.bytes[1] = 64;
    LaunchShape shape;
    shape.kernel = "run";
    runner.answer(prepare_message(plan, "cubin", "instruments", {{shape, 0}}));
    const Fields reply =
        runner.answer({"turn", to_field(TurnMessage{1, 1}), std::string(gpu_layout({64}).bytes, '\1')});
    const auto head = from_field<ReplyMessage>(reply.at(0));
    return head && head->verdict == TurnVerdict::ok && reply.size() == 3 ? 0 : 1;
  };
  EXPECT_EQ(inside(run), 0);
}

// The real process on a driver of ours (stub_driver.cpp).
class GpuProcess : public GpuSandbox {
 protected:
  void SetUp() override {
    GpuSandbox::SetUp();
    setenv("LD_LIBRARY_PATH", KC_STUB_DRIVER_FOLDER, 1);
  }
  void TearDown() override {
    unsetenv("LD_LIBRARY_PATH");
    unsetenv("CUDA_VISIBLE_DEVICES");
  }
  // Asks a runner anything; what it answers to a request that it does not understand.
  TurnVerdict ask(const std::string& wish, const std::string& sandbox) {
    setenv("CUDA_VISIBLE_DEVICES", (wish + ":" + (home_ / "secret").string()).c_str(), 1);
    const auto reply = start_gpu_process(0, sandbox)->call({"prepare"}, 10, {});
    return reply ? from_field<ReplyMessage>(reply->at(0))->verdict : TurnVerdict::ok;
  }
};

TEST_F(GpuProcess, StartsInsideTheSandboxAndReachesNoFileOfAUser) {
  EXPECT_EQ(ask("denied", "auto"), TurnVerdict::environment);
  EXPECT_ERROR(ask("denied", "off"), ErrorKind::environment, HasSubstr("the GPU cannot be used"));
}

TEST_F(GpuProcess, AsksTheDriverToLoadModulesWhole) {
  EXPECT_EQ(ask("eager", "auto"), TurnVerdict::environment) << "not at a kernel's first launch, inside a span";
}

// In this order: a driver that was once started outside is so from then on.
TEST_F(GpuProcess, WhereTheDriverNeedsMoreItIsAskedOutsideUnlessTheSandboxIsRequired) {
  EXPECT_ERROR(ask("needs", "require"), ErrorKind::environment, HasSubstr("inside the sandbox"));
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(ask("needs", "auto"), TurnVerdict::environment);
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("SANDBOX OFF"));
  EXPECT_EQ(ask("needs", "auto"), TurnVerdict::environment);
}

// The driver's own library in this process, as the stub has it.
class DriverLibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    // Its name is then taken: who asks for libcuda.so.1 gets this one.
    ASSERT_NE(dlopen(KC_STUB_DRIVER_FOLDER "/libcuda.so.1", RTLD_NOW | RTLD_LOCAL), nullptr) << dlerror();
    setenv("CUDA_VISIBLE_DEVICES", "needs:/dev/null", 1);
    driver_ = load_driver();
    ASSERT_EQ(driver_->open(0), 0);
    for (DevicePointer* memory : {&from_, &to_}) ASSERT_EQ(driver_->allocate(8, *memory), 0);
  }
  void TearDown() override {
    for (const DevicePointer memory : {from_, to_}) EXPECT_EQ(driver_->free(memory), 0);
    unsetenv("CUDA_VISIBLE_DEVICES");
  }
  DriverStatus launch_copy() {
    void* parameters[] = {&to_, &from_};
    return driver_->launch(1, {}, parameters);
  }

  std::unique_ptr<Driver> driver_;
  DevicePointer from_ = 0;
  DevicePointer to_ = 0;
};

TEST_F(DriverLibrary, NumbersDevicesAsRunnersDo) { EXPECT_STREQ(std::getenv("CUDA_DEVICE_ORDER"), "PCI_BUS_ID"); }

TEST_F(DriverLibrary, AKernelFindsWhatWasUploadedBeforeIt) {
  const std::string text = "uploaded";
  ASSERT_EQ(driver_->upload(from_, text.data(), 8), 0);
  ASSERT_EQ(launch_copy(), 0);
  ASSERT_EQ(driver_->synchronize(), 0);
  EXPECT_EQ(std::string(host_address<char>(to_), 8), text);
}

TEST_F(DriverLibrary, ADownloadHoldsWhatTheKernelBeforeItWrote) {
  ASSERT_EQ(driver_->fill(from_, 'a', 8), 0);
  ASSERT_EQ(launch_copy(), 0);
  std::string got(8, '?');
  ASSERT_EQ(driver_->download(got.data(), to_, 8), 0);
  EXPECT_EQ(got, "aaaaaaaa");
}

}  // namespace
}  // namespace kc::test
