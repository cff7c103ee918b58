#include "cuda/admission.h"

#include "cuda/baseline.h"
#include "cuda/candidate.h"
#include "cuda/emulation.h"

namespace kc {
namespace {

SmLimits limits_of(const char* compute_capability, int multiprocessors) {
  Hardware hardware;
  hardware.compute_capability = compute_capability;
  hardware.multiprocessors = multiprocessors;
  hardware.max_threads_per_multiprocessor = 2048;
  return sm_limits(hardware);
}

}  // namespace

const std::vector<std::string> kNotShownWithoutGpu = {
    "speed",
    "races inside a warp, and those between barriers that the drawn orders of threads miss",
    "the order of memory operations between blocks",
    "the rounding of the device's own functions (__expf, fast division, fused multiply-add)",
    "misaligned accesses",
    "results of the cases that only the GPU has, and of instances that were not drawn",
    "anything but compilation of what is left out",
};

const std::vector<SmLimits>& admission_limits() {
  static const std::vector<SmLimits> limits = {limits_of("8.0", 108), limits_of("9.0", 132), limits_of("10.0", 148)};
  return limits;
}

std::vector<CudaVariant> compile_variants(CudaCompiler& compiler, const TaskPack& pack, const SmLimits& limits,
                                          const std::stop_token& stop) {
  const std::vector<Candidate> candidates = device_candidates(pack);
  const std::vector<CompiledCandidate> compiled = compile_candidates(compiler, pack, candidates, limits, stop);
  std::vector<CudaVariant> variants;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string& expect = candidates[i].expect;
    variants.push_back({candidates[i].name, limits.arch(), expect.empty() ? "ok" : expect, compiled[i].ok,
                        compiled[i].ok ? "" : compiled[i].log, facts_of(compiled[i], limits)});
  }
  return variants;
}

std::vector<TaskFinding> find_faults(std::span<const CudaVariant> variants) {
  const std::string refused(name_of(MeasurementStatus::compile_error));
  std::vector<TaskFinding> findings;
  for (const CudaVariant& variant : variants) {
    const bool must_compile = variant.expect != refused;
    const std::string name = variant.candidate + " for " + variant.arch;
    if (variant.compiles != must_compile) {
      findings.push_back({name, variant.expect, variant.compiles ? "it compiles" : refused, variant.log});
      continue;
    }
    const auto occupancy = variant.facts.find("occupancy");
    if (occupancy != variant.facts.end() && occupancy->second <= 0) {
      findings.push_back({name, variant.expect, "no block fits a multiprocessor", ""});
    }
  }
  return findings;
}

EmulatedCheck check_emulated(const TaskPack& pack, HostOptions options, std::int64_t most_per_source,
                             const std::stop_token& stop) {
  EmulatedPack emulated = emulated_pack(pack, most_per_source);
  // Times mean nothing here: three rounds are the fewest that a label has.
  options.time_budget_s = 0.01;
  options.min_rounds = 3;
  options.max_rounds = 3;
  options.correctness_seeds = 3;
  return {list_candidates(emulated.pack).size(), std::move(emulated.left_out),
          check_task(emulated.pack, options, stop).findings};
}

}  // namespace kc
