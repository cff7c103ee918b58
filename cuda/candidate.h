#pragma once
// A candidate from its text to what can be launched: contract, check, compilation, facts.
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "cuda/compiler.h"
#include "cuda/contract.h"
#include "cuda/occupancy.h"
#include "forecast/measurement.h"

namespace kc {

struct CompiledCandidate {
  bool ok = false;
  std::string log;  // why not: a refusal or the compiler's words
  CudaContract contract;
  CudaBinary binary;
  std::string host_library;    // of the host part, where there is one
  DeviceLimits limits;         // of its launches
  std::vector<RunPlan> plans;  // per case of the pack
  bool has_host_code() const { return !contract.host_source.empty(); }
};

// `pack` is the task as the device sees it (pack_for_device). Every failure of a candidate is its log; Error as the
// compiler throws it.
CompiledCandidate compile_candidate(CudaCompiler& compiler, const TaskPack& pack, const Candidate& candidate,
                                    const SmLimits& limits, const std::stop_token& stop = {});
// As many at a time as the compiler has workers; results in order.
std::vector<CompiledCandidate> compile_candidates(CudaCompiler& compiler, const TaskPack& pack,
                                                  std::span<const Candidate> candidates, const SmLimits& limits,
                                                  const std::stop_token& stop = {});

// registers, spill_bytes, local_bytes, static_shared_bytes, dynamic_shared_bytes, occupancy, blocks_per_multiprocessor,
// waves: of the kernel that has the most work in the pack's first case (blocks x threads); kernels: how many there are.
// With a host part, which launches what it will: host_code (1) and kernels alone.
Facts facts_of(const CompiledCandidate& candidate, const SmLimits& limits);

}  // namespace kc
