#pragma once
// How many of a multiprocessor's warps a launch can keep resident: NVIDIA's own calculator (cuda_occupancy.h of the
// toolkit) on the limits that the CUDA C++ programming guide states for each compute capability.
#include <optional>
#include <string>

#include "cuda/contract.h"
#include "cuda/cubin.h"
#include "forecast/hardware.h"

namespace kc {

struct SmLimits {
  int major = 9;
  int minor = 0;
  int multiprocessors = 132;
  int threads = 2048;                           // per multiprocessor
  std::size_t shared_bytes = 228 * 1024;        // per multiprocessor
  std::size_t block_shared_bytes = 227 * 1024;  // per block, opted in
  std::size_t reserved_bytes = 1024;            // of shared memory, per block
  DeviceLimits launch_limits() const;
  std::string arch() const;  // "sm_90a": with the features of exactly this capability where there are some
};

// By compute capability ("9.0") and the table's counts. Error{config} for a capability below 7.5 or unknown.
SmLimits sm_limits(const Hardware& hardware);

struct Occupancy {
  int blocks_per_multiprocessor = 0;  // 0: the launch cannot run
  double share = 0;                   // resident warps / possible warps
  double waves = 0;                   // blocks of the grid / blocks that run at once
};
// Nothing for values that the calculator refuses.
std::optional<Occupancy> occupancy_of(const SmLimits& limits, const KernelFacts& kernel, const LaunchShape& launch);

}  // namespace kc
