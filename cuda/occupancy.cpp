#include "cuda/occupancy.h"

#include <cuda_occupancy.h>
#include <fmt/format.h>

#include <climits>
#include <cstdio>

#include "base/error.h"

namespace kc {
namespace {

struct Capability {
  int major;
  int minor;
  int shared_kb;  // per multiprocessor
  const char* suffix;
};

// CUDA C++ programming guide, "Technical specifications per compute capability".
constexpr Capability kCapabilities[] = {{7, 5, 64, ""},    {8, 0, 164, ""},   {8, 6, 100, ""},   {8, 7, 164, ""},
                                        {8, 9, 100, ""},   {9, 0, 228, "a"},  {10, 0, 228, "a"}, {10, 3, 228, "a"},
                                        {11, 0, 228, "a"}, {12, 0, 100, "a"}, {12, 1, 100, "a"}};

const Capability* find(int major, int minor) {
  for (const Capability& known : kCapabilities) {
    if (known.major == major && known.minor == minor) return &known;
  }
  return nullptr;
}

}  // namespace

std::string SmLimits::arch() const {
  const Capability* known = find(major, minor);
  return fmt::format("sm_{}{}{}", major, minor, known == nullptr ? "" : known->suffix);
}

DeviceLimits SmLimits::launch_limits() const {
  DeviceLimits limits;
  limits.multiprocessors = multiprocessors;
  limits.shared_bytes_per_block = static_cast<std::int64_t>(block_shared_bytes);
  return limits;
}

SmLimits sm_limits(const Hardware& hardware) {
  int major = 0;
  int minor = 0;
  const bool read = std::sscanf(hardware.compute_capability.c_str(), "%d.%d", &major, &minor) == 2;
  const Capability* known = read ? find(major, minor) : nullptr;
  if (known == nullptr) {
    throw Error(ErrorKind::config,
                fmt::format("{}: compute capability '{}' is not one of 7.5, 8.0, 8.6, 8.7, 8.9, 9.0, 10.0, 10.3, 11.0, "
                            "12.0 and 12.1",
                            hardware.device, hardware.compute_capability));
  }
  SmLimits limits;
  limits.major = major;
  limits.minor = minor;
  limits.multiprocessors = hardware.multiprocessors;
  limits.threads = hardware.max_threads_per_multiprocessor;
  limits.shared_bytes = static_cast<std::size_t>(known->shared_kb) * 1024;
  limits.reserved_bytes = major >= 8 ? 1024 : 0;
  limits.block_shared_bytes = limits.shared_bytes - limits.reserved_bytes;
  return limits;
}

std::optional<Occupancy> occupancy_of(const SmLimits& limits, const KernelFacts& kernel, const LaunchShape& launch) {
  cudaOccDeviceProp device;
  device.computeMajor = limits.major;
  device.computeMinor = limits.minor;
  device.maxThreadsPerBlock = 1024;
  device.maxThreadsPerMultiprocessor = limits.threads;
  device.regsPerBlock = 65536;
  device.regsPerMultiprocessor = 65536;
  device.warpSize = 32;
  device.sharedMemPerBlock = 48 * 1024;
  device.sharedMemPerMultiprocessor = limits.shared_bytes;
  device.numSms = limits.multiprocessors;
  device.sharedMemPerBlockOptin = limits.block_shared_bytes;
  device.reservedSharedMemPerBlock = limits.reserved_bytes;
  cudaOccFuncAttributes function;
  function.maxThreadsPerBlock = kernel.max_threads > 0 ? kernel.max_threads : INT_MAX;
  function.numRegs = kernel.registers;
  function.sharedSizeBytes = kernel.static_shared_bytes;
  function.partitionedGCConfig = PARTITIONED_GC_OFF;
  function.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  function.maxDynamicSharedSizeBytes = launch.shared_bytes;
  function.numBlockBarriers = 1;
  const cudaOccDeviceState state;
  cudaOccResult result;
  const auto threads = static_cast<int>(launch.threads());
  if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &function, &state, threads, launch.shared_bytes) !=
      CUDA_OCC_SUCCESS) {
    return std::nullopt;
  }
  Occupancy occupancy;
  occupancy.blocks_per_multiprocessor = result.activeBlocksPerMultiprocessor;
  const int warps = (threads + 31) / 32 * result.activeBlocksPerMultiprocessor;
  occupancy.share = static_cast<double>(warps) / (static_cast<double>(limits.threads) / 32);
  const double blocks = static_cast<double>(launch.grid[0]) * launch.grid[1] * launch.grid[2];
  const double at_once = static_cast<double>(limits.multiprocessors) * result.activeBlocksPerMultiprocessor;
  occupancy.waves = at_once > 0 ? blocks / at_once : 0;
  return occupancy;
}

}  // namespace kc
