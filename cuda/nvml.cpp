#include "cuda/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace kc {
namespace {

// The few functions and structures that are needed, as NVIDIA's documentation of NVML states them.
using Device = void*;
struct ProcessInfo {  // nvmlProcessInfo_t, since version 2 of the calls
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};
constexpr unsigned kSmClock = 1;
constexpr unsigned kMemoryClock = 2;
constexpr unsigned kMostProcesses = 256;
constexpr double kLeavingSeconds = 0.2;

class Nvml : public GpuMonitor {
 public:
  Nvml(void* library, const std::string& uuid) : library_(library), uuid_(nvml_uuid(uuid)) {}
  ~Nvml() override {
    if (started_) call<int (*)()>("nvmlShutdown");
    dlclose(library_);
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  bool start() {
    started_ = call<int (*)()>("nvmlInit_v2") == 0;
    return started_;
  }

  GpuHealth read(int index) override {
    GpuHealth health;
    Device device = nullptr;
    if (!find(index, device)) return health;
    for (const char* kind : {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v3"}) {
      std::vector<ProcessInfo> processes(kMostProcesses);
      unsigned count = kMostProcesses;
      if (call<int (*)(Device, unsigned*, ProcessInfo*)>(kind, device, &count, processes.data()) != 0) continue;
      for (unsigned p = 0; p < std::min(count, kMostProcesses); ++p) health.processes.push_back(processes[p].pid);
    }
    health.sm_mhz = number("nvmlDeviceGetClockInfo", device, kSmClock);
    health.memory_mhz = number("nvmlDeviceGetClockInfo", device, kMemoryClock);
    health.highest_sm_mhz = number("nvmlDeviceGetMaxClockInfo", device, kSmClock);
    health.temperature_c = number("nvmlDeviceGetTemperature", device, 0);
    unsigned value = 0;
    if (call<int (*)(Device, unsigned*)>("nvmlDeviceGetPowerUsage", device, &value) == 0) health.power_w = value / 1e3;
    if (call<int (*)(Device, unsigned*)>("nvmlDeviceGetPersistenceMode", device, &value) == 0) {
      health.persistence = value != 0;
    }
    return health;
  }

 private:
  // A missing function counts as one that failed.
  template <class F, class... Arguments>
  int call(const char* name, Arguments... arguments) {
    const auto function = reinterpret_cast<F>(dlsym(library_, name));
    return function == nullptr ? -1 : function(arguments...);
  }

  bool find(int index, Device& device) {
    return call<int (*)(const char*, Device*)>("nvmlDeviceGetHandleByUUID", uuid_.c_str(), &device) == 0 ||
           call<int (*)(unsigned, Device*)>("nvmlDeviceGetHandleByIndex_v2", static_cast<unsigned>(index), &device) ==
               0;
  }

  std::optional<unsigned> number(const char* name, Device device, unsigned which) {
    unsigned value = 0;
    if (call<int (*)(Device, unsigned, unsigned*)>(name, device, which, &value) != 0) return std::nullopt;
    return value;
  }

  void* library_;
  std::string uuid_;
  bool started_ = false;
};

}  // namespace

std::string nvml_uuid(std::string_view uuid) {
  std::string text = "GPU";
  for (std::size_t at = 0; at < uuid.size(); ++at) {
    if (at == 0 || (at >= 8 && at <= 20 && at % 4 == 0)) text += '-';
    text += uuid[at];
  }
  return text;
}

std::unique_ptr<GpuMonitor> load_nvml(std::string& why, const std::string& uuid) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    why = "libnvidia-ml.so.1 is missing: it comes with NVIDIA's driver";
    return nullptr;
  }
  auto nvml = std::make_unique<Nvml>(library, uuid);
  if (nvml->start()) return nvml;
  why = "NVML does not start: is the driver loaded?";
  return nullptr;
}

std::vector<unsigned> foreign_processes(GpuMonitor& monitor, int device) {
  std::vector<unsigned> found = wait_until_idle(monitor, device, {}, kLeavingSeconds);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());  // those that compute and draw are listed twice
  return found;
}

std::vector<unsigned> wait_until_idle(GpuMonitor& monitor, int device, const std::vector<unsigned>& own,
                                      double seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (;;) {
    std::vector<unsigned> others = monitor.read(device).processes;
    std::erase_if(others, [&](unsigned pid) { return std::find(own.begin(), own.end(), pid) != own.end(); });
    if (others.empty() || std::chrono::steady_clock::now() > deadline) return others;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace kc
