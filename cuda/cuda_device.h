#pragma once
// An NVIDIA GPU as the device (docs/cuda.md).
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/config.h"
#include "cuda/compiler.h"
#include "cuda/driver.h"
#include "cuda/gpu_link.h"
#include "cuda/nvml.h"
#include "cuda/occupancy.h"
#include "measure/host_device.h"
#include "measure/measurer.h"

namespace kc {

struct CudaOptions {   // section `cuda`
  std::string device;  // name in the hardware table; empty: as the driver names it
  int index = 0;       // of the device, in the order of the bus
  CudaCompileOptions compile;
  double run_timeout_s = 10;            // of one turn
  double time_budget_s = 0.5;           // of timing one candidate, all cases
  std::int64_t min_rounds = 8;          // in each process
  std::int64_t max_rounds = 64;         // in all processes of a candidate together
  double target_log2_halfwidth = 0.02;  // stop when the 95 % interval within the session is narrower
  std::int64_t correctness_seeds = 2;
  std::int64_t input_memory_mb = 1024;  // of the harness, for the input sets of a session
  double idle_timeout_s = 10;           // for a killed runner's work to leave the device
  HostOptions host;                     // of the reference, which runs on the CPU
};
CudaOptions read_cuda_options(Config& config, const HostOptions& host);

// What stands behind the measurer; tests put something else there.
struct CudaBackend {
  GpuDevice description;
  GpuLinkFactory start;                 // a fresh runner
  std::unique_ptr<GpuMonitor> monitor;  // may be empty
};
// `sandbox` of its runners, as start_gpu_process has it. Error{environment}: no driver, no such device.
CudaBackend make_cuda_backend(int index, const std::string& sandbox);

// `input_seed` must be secret. Requests name packs as the device sees them (pack_for_device(pack, "cuda")), which must
// outlive the measurer. Error{environment} when there is no NVRTC or host compiler.
std::unique_ptr<Measurer> make_cuda_measurer(const CudaOptions& options, std::uint64_t input_seed, CudaBackend backend);
std::unique_ptr<Measurer> make_cuda_measurer(const CudaOptions& options, std::uint64_t input_seed);

// The limits of a device as its driver states them.
SmLimits sm_limits(const GpuDevice& device);

inline constexpr const char* kCudaHarnessVersion = "cuda-3";

}  // namespace kc
