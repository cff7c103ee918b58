#include "cuda/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/interrupt.h"
#include "cuda/gpu_link.h"
#include "cuda/gpu_lock.h"
#include "cuda/gpu_messages.h"
#include "cuda/worker_process.h"
#include "measure/statistics.h"

namespace kc {
namespace {

DoctorLine ok(std::string name, std::string detail) {
  return {std::move(name), DoctorState::ok, std::move(detail), ""};
}
DoctorLine warning(std::string name, std::string detail, std::string advice) {
  return {std::move(name), DoctorState::warning, std::move(detail), std::move(advice)};
}
DoctorLine missing(std::string name, std::string detail, std::string advice) {
  return {std::move(name), DoctorState::missing, std::move(detail), std::move(advice)};
}

// The compiler for the doctor's own kernels, or nothing.
std::unique_ptr<CudaCompiler> check_compiler(const CudaOptions& options, std::vector<DoctorLine>& lines,
                                             const std::stop_token& stop) {
  try {
    auto compiler = std::make_unique<CudaCompiler>(options.compile);
    const CudaToolkit& toolkit = compiler->toolkit();
    lines.push_back(ok("NVRTC", fmt::format("{} in {}", compiler->version(), toolkit.root.string())));
    if (toolkit.has_core_libraries && toolkit.has_crt) {
      lines.push_back(ok("CUDA headers", "mma.h, cooperative_groups.h, cub, cuda/std"));
    } else {
      lines.push_back(warning("CUDA headers", fmt::format("without {}", toolkit.has_crt ? "cub and cuda/std" : "crt/"),
                              "pip install nvidia-cuda-cccl nvidia-cuda-crt (scripts/setup does)"));
    }
    const auto pieces = compiler->missing_isolation();
    lines.push_back(
        pieces.empty() ? ok("compiler isolation", "own user where root, Landlock, call filter, limits")
                       : warning("compiler isolation", fmt::format("without {}", fmt::join(pieces, ", ")),
                                 "a kernel of Linux 5.13 or newer with Landlock; keep the toolkit readable by others"));
    lines.push_back(compiler->keeps_headers()
                        ? ok("kept headers", "read once in each worker: cub, cuda/std, cooperative_groups.h")
                        : warning("kept headers", "no folder that a worker alone sees: a second for each use of cub",
                                  "user namespaces or root's rights to mount, and Landlock"));
    const auto start = std::chrono::steady_clock::now();
    CudaSource source{
        "doctor.cu", fmt::format("// {}\n{}", start.time_since_epoch().count(), instrument_source()), "sm_90a", {}};
    const CudaBinary binary = compiler->compile(source, stop);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    lines.push_back(binary.ok ? ok("compile latency", fmt::format("{:.0f} ms, small kernel, warm worker", took.count()))
                              : missing("compile latency", binary.log, "see the message"));
    return compiler;
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::interrupted) throw;
    lines.push_back(missing("NVRTC", e.what(), "scripts/setup installs the wheels nvidia-cuda-nvrtc and -runtime"));
    return nullptr;
  }
}

void check_runner_isolation(std::vector<DoctorLine>& lines) {
  try {
    const auto pieces = missing_gpu_isolation();
    lines.push_back(
        pieces.empty()
            ? ok("runner isolation", "Landlock, network of its own, call filter; devices of NVIDIA open")
            : warning("runner isolation", fmt::format("without {}", fmt::join(pieces, ", ")),
                      "a kernel of Linux 5.13 or newer with Landlock, and user namespaces or root's rights"));
  } catch (const Error& e) {
    lines.push_back(missing("runner isolation", e.what(), "keep kernelcast-gpu beside the programs"));
  }
}

class GpuChecks {
 public:
  GpuChecks(Driver& driver, GpuMonitor* monitor, int index) : driver_(driver), monitor_(monitor), index_(index) {}

  std::vector<DoctorLine> run(const std::string& instruments) {
    if (!check_device()) return std::move(lines_);
    if (monitor_ != nullptr) {
      check_health();
    } else {
      lines_.push_back(warning("NVML", "not available", "clocks, temperature and other processes stay unknown"));
    }
    if (!instruments.empty()) check_timer(instruments);
    return std::move(lines_);
  }

 private:
  bool check_device() {
    int count = 0;
    const DriverStatus fault = driver_.count_devices(count);
    if (fault != 0 || index_ >= count) {
      lines_.push_back(missing("devices", fault != 0 ? driver_.text_of(fault) : fmt::format("{} GPUs", count),
                               fmt::format("cuda.index is {}; see nvidia-smi", index_)));
      return false;
    }
    if (const DriverStatus described = driver_.describe(index_, device_)) {
      lines_.push_back(missing("devices", driver_.text_of(described), "see nvidia-smi"));
      return false;
    }
    lines_.push_back(
        ok("driver", fmt::format("CUDA {}.{}", device_.driver_version / 1000, device_.driver_version % 1000 / 10)));
    lines_.push_back(
        ok("device", fmt::format("{} of {}: {}, compute capability {}.{}, {} multiprocessors, {:.1f} GB", index_, count,
                                 device_.name, device_.major, device_.minor, device_.multiprocessors,
                                 static_cast<double>(device_.memory_bytes) / 1e9)));
    lines_.push_back(device_.l2_bytes > 0
                         ? ok("L2 cache", fmt::format("{:.0f} MB; twice that is written before every timed run",
                                                      static_cast<double>(device_.l2_bytes) / 1048576))
                         : warning("L2 cache", "size unknown", "cold timings may find data in the cache"));
    return true;
  }

  void check_health() {
    const GpuHealth health = monitor_->read(index_);
    lines_.push_back(health.processes.empty()
                         ? ok("other processes", "none on the device")
                         : warning("other processes", fmt::format("ids {}", fmt::join(health.processes, ", ")),
                                   "end them before labelling: they share caches, memory and clocks"));
    if (health.sm_mhz && health.highest_sm_mhz) {
      lines_.push_back(ok("clocks", fmt::format("{} MHz now, {} MHz at most", *health.sm_mhz, *health.highest_sm_mhz)));
    } else {
      lines_.push_back(warning("clocks", "NVML does not tell", "they are measured beside every run all the same"));
    }
    if (health.persistence.value_or(true)) {
      lines_.push_back(ok("persistence mode", health.persistence ? "on" : "unknown"));
    } else {
      lines_.push_back(warning("persistence mode", "off", "nvidia-smi -pm 1: contexts start sooner"));
    }
  }

  void check_timer(const std::string& instruments) {
    std::uint64_t module = 0;
    std::uint64_t delay = 0;
    DevicePointer samples = 0;
    DriverStatus fault = driver_.open(index_);
    if (fault == 0) fault = driver_.load(instruments, module);
    if (fault == 0) fault = driver_.function(module, kDelayKernel, 0, delay);
    if (fault == 0) fault = driver_.allocate(64, samples);
    std::vector<double> empty;
    std::vector<double> hundred;
    for (int i = 0; i < 50 && fault == 0; ++i) {
      fault = span_of(delay, samples, 0, empty);
      if (fault == 0) fault = span_of(delay, samples, 100000, hundred);
    }
    if (fault != 0) {
      lines_.push_back(missing("timer", driver_.text_of(fault), "see nvidia-smi and dmesg"));
      return;
    }
    std::uint64_t clocks[4] = {};
    driver_.download(clocks, samples, sizeof clocks);
    const double span = median_of(hundred);
    lines_.push_back(
        ok("event overhead", fmt::format("{:.0f} ns around an empty kernel (median of 50)", median_of(empty))));
    const std::string detail = fmt::format("100 us of the global timer are {:.1f} us by events", span / 1e3);
    lines_.push_back(span > 95e3 && span < 130e3
                         ? ok("timer resolution", detail)
                         : warning("timer resolution", detail, "events and the global timer disagree"));
    const double mhz = clocks[1] > clocks[0] ? static_cast<double>(clocks[3] - clocks[2]) * 1e3 /
                                                   static_cast<double>(clocks[1] - clocks[0])
                                             : 0;
    lines_.push_back(ok("multiprocessor clock", fmt::format("{:.0f} MHz beside the last run", mhz)));
  }

  DriverStatus span_of(std::uint64_t delay, DevicePointer samples, std::uint64_t ns, std::vector<double>& spans) {
    void* parameters[] = {&ns, &samples};
    DriverStatus fault = driver_.record_start();
    if (fault == 0) fault = driver_.launch(delay, {}, parameters);
    if (fault == 0) fault = driver_.record_stop();
    if (fault == 0) fault = driver_.synchronize();
    float milliseconds = 0;
    if (fault == 0) fault = driver_.elapsed_ms(milliseconds);
    spans.push_back(static_cast<double>(milliseconds) * 1e6);
    return fault;
  }

  Driver& driver_;
  GpuMonitor* monitor_;
  int index_;
  GpuDevice device_;
  std::vector<DoctorLine> lines_;
};

}  // namespace

std::vector<DoctorLine> gpu_doctor(Driver& driver, GpuMonitor* monitor, int index, const std::string& instruments) {
  return GpuChecks(driver, monitor, index).run(instruments);
}

std::vector<DoctorLine> cuda_doctor(const CudaOptions& options, const std::stop_token& stop) {
  std::vector<DoctorLine> lines;
  const auto compiler = check_compiler(options, lines, stop);
  check_runner_isolation(lines);
  throw_if_stopped(stop);
  try {
    find_worker_program("kernelcast-gpu", "KERNELCAST_GPU");
    const std::unique_ptr<Driver> driver = load_driver();
    GpuDevice device;
    std::string instruments;
    std::optional<GpuLock> lock;
    if (compiler && driver->describe(options.index, device) == 0) {
      lock.emplace(device.uuid, stop);  // not beside what is timed
      instruments =
          compiler->compile({"instruments.cu", instrument_source(), sm_limits(device).arch(), {}}, stop).cubin;
    }
    std::string why;
    const auto monitor = load_nvml(why, device.uuid);
    std::vector<DoctorLine> gpu = gpu_doctor(*driver, monitor.get(), options.index, instruments);
    std::move(gpu.begin(), gpu.end(), std::back_inserter(lines));
  } catch (const Error& e) {
    if (e.kind() == ErrorKind::interrupted) throw;
    lines.push_back(missing("driver", e.what(),
                            "install NVIDIA's driver; in a container, pass the GPU through; compiling works without"));
  }
  return lines;
}

}  // namespace kc
