#pragma once
// Whether the CUDA part of a task pack is sound, as far as a machine without a GPU can tell (docs/cuda.md, "Shipped
// kernels, and what was checked without a GPU").
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "cuda/compiler.h"
#include "cuda/occupancy.h"
#include "forecast/measurement.h"
#include "measure/host_device.h"

namespace kc {

// What every variant must compile for: sm_80, sm_90a and sm_100a with the multiprocessors of A100, H100 and B200.
const std::vector<SmLimits>& admission_limits();

// A candidate or baseline, compiled for one architecture.
struct CudaVariant {
  std::string candidate;
  std::string arch;    // "sm_90a"
  std::string expect;  // of the candidate: a status, or "ok"
  bool compiles = false;
  std::string log;  // why not
  Facts facts;      // as facts_of (cuda/candidate.h); empty for a library's routine
};

// Every candidate, then every baseline of the pack as the device sees it (pack_for_device). Throws as CudaCompiler.
std::vector<CudaVariant> compile_variants(CudaCompiler& compiler, const TaskPack& pack, const SmLimits& limits,
                                          const std::stop_token& stop = {});

// Those that compile against the pack's word, or not; and those that compile but cannot be launched.
std::vector<TaskFinding> find_faults(std::span<const CudaVariant> variants);

// The device code run on the CPU (cuda/emulation.h) and checked as candidates of the host are (check_task).
struct EmulatedCheck {
  std::size_t candidates = 0;         // that ran, the seed among them
  std::vector<std::string> left_out;  // "name: reason"
  std::vector<TaskFinding> findings;
};
// At most `most_per_source` instances of each template, evenly chosen (0: all). Blocks for seconds a candidate.
// Error{bad_data} names the task when it is not admitted or its seed cannot be emulated.
EmulatedCheck check_emulated(const TaskPack& pack, HostOptions options, std::int64_t most_per_source,
                             const std::stop_token& stop = {});

inline constexpr std::int64_t kEmulatedPerSource = 3;

// What neither of the two can show, in words for people.
extern const std::vector<std::string> kNotShownWithoutGpu;

}  // namespace kc
