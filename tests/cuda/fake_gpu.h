#pragma once
// A GPU that tests script: memory is the host's, kernels are functions by name, clocks are counters. What a launch does
// and how long it takes is the test's choice; every call is noted.
#include <unistd.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cuda/cuda_device.h"
#include "cuda/driver.h"
#include "cuda/gpu_link.h"
#include "cuda/gpu_runner.h"
#include "cuda/output_digest.h"

namespace kc::test {

inline constexpr int kLaunchFailed = 719;  // CUDA_ERROR_LAUNCH_FAILED
inline constexpr int kNotFound = 500;      // CUDA_ERROR_NOT_FOUND
inline constexpr int kUnknownError = 999;  // CUDA_ERROR_UNKNOWN
inline constexpr std::size_t kFakeL2 = 4096;

struct FakeLaunch {
  const std::int64_t* sizes = nullptr;
  std::vector<std::byte*> buffers;  // inputs, outputs, scratch
  unsigned runner = 0;              // the process that launches: what a kernel keeps is gone in the next one
  double ns = 10000;                // how long the launch takes
  DriverStatus status = 0;          // of the work: found at the next synchronisation, and by every call after it
  bool hangs = false;
};
using FakeKernel = std::function<void(FakeLaunch&)>;

// What all runners of one test share.
struct FakeWorld {
  std::map<std::string, FakeKernel> kernels;                                // by name
  std::function<double(int)> mhz = [](int) { return 1500.0; };              // of the n-th reading of the clock
  std::int64_t queue_ns = 1000;                                             // the host needs for one launch
  std::function<std::int64_t()> stall_ns = [] { return std::int64_t{0}; };  // of the host, before it awaits a span
  std::vector<std::string> calls;                                           // of all drivers, in order
  std::vector<std::string> launched_inputs;  // first input's bytes of every candidate launch
  std::set<unsigned> processes;              // that use the device
  bool killed_processes_stay = false;
  int readings = 0;
  unsigned runners = 0;
};

// Device addresses are the host's.
template <class T>
T* host_address(DevicePointer pointer) {
  return reinterpret_cast<T*>(pointer);  // NOLINT(performance-no-int-to-ptr)
}

class FakeDriver : public Driver {
 public:
  explicit FakeDriver(FakeWorld& world, unsigned runner = 0) : world_(world), runner_(runner) {}
  bool hung() const { return hung_; }

  DriverStatus count_devices(int& count) override { return count = 1, 0; }
  DriverStatus describe(int, GpuDevice&) override { return 0; }
  DriverStatus open(int) override { return 0; }
  DriverStatus load(const std::string&, std::uint64_t& module) override {
    return note("load"), module = ++next_, failed_;
  }
  DriverStatus unload(std::uint64_t) override { return failed_; }
  DriverStatus function(std::uint64_t, const std::string& name, unsigned, std::uint64_t& function) override {
    if (name != kDelayKernel && name != kDigestKernel && !world_.kernels.contains(name)) return kNotFound;
    functions_.push_back(name);
    function = functions_.size();
    return failed_;
  }
  // The address first, then the rank: what a kernel of a test needs of a map that is a parameter.
  DriverStatus tensor_map(void* map, const TensorMapSpec& spec) override {
    std::memcpy(map, &spec.address, sizeof spec.address);
    std::memcpy(static_cast<std::byte*>(map) + sizeof spec.address, &spec.rank, sizeof spec.rank);
    return note("tensor_map"), failed_;
  }
  DriverStatus allocate(std::size_t bytes, DevicePointer& memory) override {
    blocks_.push_back(std::make_unique<std::vector<std::uint64_t>>(bytes / 8 + 64));
    memory = reinterpret_cast<DevicePointer>(blocks_.back()->data());
    return failed_;
  }
  DriverStatus free(DevicePointer) override { return failed_; }
  DriverStatus upload(DevicePointer to, const void* from, std::size_t bytes) override {
    std::memcpy(host_address<void>(to), from, bytes);
    return note("upload"), failed_;
  }
  DriverStatus download(void* to, DevicePointer from, std::size_t bytes) override {
    std::memcpy(to, host_address<void>(from), bytes);
    return failed_;
  }
  DriverStatus fill(DevicePointer to, unsigned char value, std::size_t bytes) override {
    std::memset(host_address<void>(to), value, bytes);
    return note("fill " + std::to_string(bytes)), failed_;
  }
  DriverStatus launch(std::uint64_t function, const LaunchShape&, void** parameters) override {
    const std::string& name = functions_.at(function - 1);
    now_ += world_.queue_ns;
    device_ = std::max(device_, static_cast<double>(now_));
    note(name);
    if (name == kDelayKernel) {
      delay(parameters);
      return failed_;
    }
    if (name == kDigestKernel) {
      digest(parameters);
      return failed_;
    }
    FakeLaunch launch;
    launch.runner = runner_;
    launch.sizes = static_cast<const std::int64_t*>(parameters[0]);
    for (void** p = parameters + 1; *p != nullptr; ++p) {
      launch.buffers.push_back(host_address<std::byte>(*static_cast<DevicePointer*>(*p)));
    }
    world_.launched_inputs.emplace_back(reinterpret_cast<const char*>(launch.buffers.at(0)), 64);
    world_.kernels.at(name)(launch);
    device_ += launch.ns;
    hung_ = hung_ || launch.hangs;
    if (pending_ == 0) pending_ = launch.status;
    return failed_;
  }
  DriverStatus sgemm(const LibraryCall& call, DevicePointer a, DevicePointer b, DevicePointer c) override {
    const auto* pa = host_address<const float>(a);
    const auto* pb = host_address<const float>(b);
    auto* pc = host_address<float>(c);
    for (std::int64_t i = 0; i < call.m; ++i) {
      for (std::int64_t j = 0; j < call.n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < call.k; ++l) sum += double{pa[i + l * call.lda]} * pb[l + j * call.ldb];
        pc[i + j * call.ldc] = static_cast<float>(sum);
      }
    }
    device_ = std::max(device_, static_cast<double>(now_ += world_.queue_ns)) + 10000;
    return note("sgemm"), failed_;
  }
  DriverStatus record_start() override { return note("start"), start_ = device_, failed_; }
  DriverStatus record_stop() override { return now_ += world_.stall_ns(), note("stop"), stop_ = device_, failed_; }
  DriverStatus synchronize() override {
    note("synchronize");
    now_ = std::max(now_, static_cast<std::int64_t>(device_)) + 1000;
    if (failed_ == 0) failed_ = pending_;
    return failed_;
  }
  DriverStatus elapsed_ms(float& milliseconds) override {
    milliseconds = static_cast<float>((stop_ - start_) / 1e6);
    return failed_;
  }
  DriverStatus drop_persisting_lines() override { return note("drop"), failed_; }
  std::string text_of(DriverStatus status) override { return "error " + std::to_string(status); }
  std::int64_t now_ns() override { return now_ += 10; }

 private:
  void note(const std::string& call) { world_.calls.push_back(call); }
  void delay(void** parameters) {
    const auto ns = *static_cast<std::uint64_t*>(parameters[0]);
    auto* samples = host_address<std::uint64_t>(*static_cast<DevicePointer*>(parameters[1]));
    const double mhz = world_.mhz(world_.readings++);
    samples[0] = static_cast<std::uint64_t>(device_);
    samples[1] = samples[0] + ns;
    samples[2] = 0;
    samples[3] = static_cast<std::uint64_t>(static_cast<double>(ns) * mhz / 1000);
    device_ += static_cast<double>(ns);
  }

  static void digest(void** parameters) {
    const auto* words = host_address<std::byte>(*static_cast<DevicePointer*>(parameters[0]));
    const auto count = *static_cast<std::uint64_t*>(parameters[1]);
    const auto key = *static_cast<std::uint64_t*>(parameters[2]);
    *host_address<std::uint64_t>(*static_cast<DevicePointer*>(parameters[3])) +=
        output_digest({words, count * sizeof(std::uint64_t)}, 0, key);
  }

  FakeWorld& world_;
  unsigned runner_;
  std::vector<std::unique_ptr<std::vector<std::uint64_t>>> blocks_;
  std::vector<std::string> functions_;
  std::uint64_t next_ = 0;
  std::int64_t now_ = 1000000;
  double device_ = 0;
  double start_ = 0;
  double stop_ = 0;
  DriverStatus pending_ = 0;
  DriverStatus failed_ = 0;
  bool hung_ = false;
};

// A runner inside the test's own process.
class FakeLink : public GpuLink {
 public:
  explicit FakeLink(FakeWorld& world) : world_(world), pid_(++world.runners), driver_(world, pid_) {
    world_.processes.insert(pid_);
  }
  ~FakeLink() override {
    if (!(world_.killed_processes_stay && timed_out_)) world_.processes.erase(pid_);
  }
  FakeLink(const FakeLink&) = delete;
  FakeLink& operator=(const FakeLink&) = delete;

  std::optional<Fields> call(const Fields& request, double, const std::stop_token&) override {
    world_.calls.push_back("runner " + std::to_string(pid_));
    Fields reply = runner_.answer(request);
    timed_out_ = driver_.hung();
    if (timed_out_) return std::nullopt;
    return reply;
  }
  bool timed_out() const override { return timed_out_; }
  std::string why_it_ended() override { return "a signal"; }
  std::int64_t now_ns() const override { return const_cast<FakeDriver&>(driver_).now_ns(); }
  unsigned pid() const override { return pid_; }

 private:
  FakeWorld& world_;
  unsigned pid_;
  FakeDriver driver_;
  GpuRunner runner_{driver_, kFakeL2};
  bool timed_out_ = false;
};

class FakeMonitor : public GpuMonitor {
 public:
  explicit FakeMonitor(FakeWorld& world) : world_(world) {}
  GpuHealth read(int) override {
    GpuHealth health;
    health.processes.assign(world_.processes.begin(), world_.processes.end());
    health.temperature_c = 40;
    return health;
  }

 private:
  FakeWorld& world_;
};

inline CudaBackend fake_backend(FakeWorld& world) {
  CudaBackend backend;
  backend.description.name = "Fake H100";
  backend.description.uuid = "fake " + std::to_string(getpid());  // no other test waits for it
  backend.description.major = 9;
  backend.description.multiprocessors = 132;
  backend.description.threads_per_multiprocessor = 2048;
  backend.description.clock_khz = 1980000;
  backend.description.memory_clock_khz = 2619000;
  backend.description.memory_bus_bits = 5120;
  backend.description.l2_bytes = std::int64_t{50} << 20;
  backend.start = [&world] { return std::make_unique<FakeLink>(world); };
  backend.monitor = std::make_unique<FakeMonitor>(world);
  return backend;
}

}  // namespace kc::test
