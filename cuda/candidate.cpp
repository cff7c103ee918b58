#include "cuda/candidate.h"

#include <algorithm>
#include <atomic>

#include "cuda/baseline.h"
#include "cuda/host_contract.h"
#include "cuda/source_check.h"

namespace kc {
namespace {

std::string file_of(const Candidate& candidate) { return candidate.name.substr(0, candidate.name.find(' ')); }

// What can be told without a compiler: nothing, or the text of a refusal.
std::string prepare(const TaskPack& pack, const Candidate& candidate, const SmLimits& limits,
                    CompiledCandidate& result) {
  const std::string file = file_of(candidate);
  if (const CudaBaseline* baseline = find_baseline(pack, candidate.kernel.source)) {
    for (const CaseSpec& spec : pack.cases) {
      auto call = plan_library(*baseline, pack, spec);
      if (!call) return call.error().text(file);
      result.plans.push_back({{Step{std::nullopt, 0, *call}}, {}});
    }
    result.ok = true;
    return "";
  }
  auto contract = read_contract(candidate.kernel.source);
  if (!contract) return contract.error().text(file);
  result.contract = std::move(*contract);
  result.limits = limits.launch_limits();
  for (const CaseSpec& spec : pack.cases) {
    auto plan = plan_run(result.contract, pack, candidate.kernel.parameters, spec, result.limits);
    if (!plan) return plan.error().text(file);
    result.plans.push_back(std::move(*plan));
  }
  auto refusal = check_source(result.contract.device_source);
  if (!refusal) refusal = check_host_source(result.contract);
  return refusal ? refusal->text(file) : "";
}

CudaSource source_of(const TaskPack& pack, const Candidate& candidate, const SmLimits& limits,
                     const CompiledCandidate& result) {
  const std::string file = file_of(candidate);
  CudaSource source{file, cuda_unit(pack, result.contract, candidate.kernel.parameters, file), limits.arch(),
                    pack.cuda ? pack.cuda->options : std::vector<std::string>{}};
  source.source_begin = source.unit.size() - result.contract.device_source.size();
  return source;
}

// Static and dynamic shared memory together, for every launch.
std::string check_shapes(const CompiledCandidate& result, const SmLimits& limits, const std::string& file) {
  for (const RunPlan& plan : result.plans) {
    for (const Step& step : plan.steps) {
      if (!step.launch) continue;
      for (const KernelFacts& kernel : result.binary.facts.kernels) {
        if (kernel.name != step.launch->kernel) continue;
        const auto threads = static_cast<int>(step.launch->threads());
        if (kernel.max_threads > 0 && threads > kernel.max_threads) {
          return Refusal{0, "a launch of " + std::to_string(threads) + " threads exceeds __launch_bounds__"}.text(file);
        }
        const auto occupancy = occupancy_of(limits, kernel, *step.launch);
        if (occupancy && occupancy->blocks_per_multiprocessor > 0) continue;
        return Refusal{0, "a block of " + kernel.name + " needs more registers or shared memory than there are"}.text(
            file);
      }
    }
  }
  return "";
}

CompiledCandidate finish(CompiledCandidate result, CudaBinary binary, const SmLimits& limits, const std::string& file) {
  result.binary = std::move(binary);
  result.log = result.binary.log;
  if (!result.binary.ok) return result;
  if (const auto refusal = check_binary(result.contract, result.binary.facts)) {
    result.log = refusal->text(file);
    return result;
  }
  if (result.has_host_code() && result.binary.facts.kernels.empty()) {
    result.log = Refusal{result.contract.host_line, "no kernel for the host part to launch"}.text(file);
    return result;
  }
  if (std::string fault = check_shapes(result, limits, file); !fault.empty()) {
    result.log = std::move(fault);
    return result;
  }
  result.ok = true;
  return result;
}

// The host parts of those whose device part is accepted.
void compile_host_parts(CudaCompiler& compiler, const TaskPack& pack, std::span<const Candidate> candidates,
                        std::vector<CompiledCandidate>& results, const std::stop_token& stop) {
  std::vector<CompileJob> jobs;
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].ok || !results[i].has_host_code()) continue;
    jobs.push_back(host_job(pack, results[i].contract, candidates[i].kernel.parameters, file_of(candidates[i]), {}));
    owners.push_back(i);
  }
  std::vector<HostPart> parts = compiler.compile_host_parts(jobs, stop);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    CompiledCandidate& result = results[owners[p]];
    result.ok = parts[p].ok;
    const auto fault = parts[p].ok ? std::nullopt : host_fault(parts[p].log);
    if (fault) result.log += Refusal{result.contract.host_line, *fault}.text(file_of(candidates[owners[p]])) + "\n";
    result.log += parts[p].log;
    result.host_library = std::move(parts[p].library);
  }
}

}  // namespace

std::vector<CompiledCandidate> compile_candidates(CudaCompiler& compiler, const TaskPack& pack,
                                                  std::span<const Candidate> candidates, const SmLimits& limits,
                                                  const std::stop_token& stop) {
  std::vector<CompiledCandidate> results(candidates.size());
  std::vector<CudaSource> sources;
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    results[i].log = prepare(pack, candidates[i], limits, results[i]);
    if (!results[i].log.empty() || results[i].ok) continue;  // refused, or a library routine
    sources.push_back(source_of(pack, candidates[i], limits, results[i]));
    owners.push_back(i);
  }
  std::vector<CudaBinary> binaries = compiler.compile_all(sources, stop);
  for (std::size_t s = 0; s < owners.size(); ++s) {
    CompiledCandidate& result = results[owners[s]];
    result = finish(std::move(result), std::move(binaries[s]), limits, sources[s].file);
  }
  compile_host_parts(compiler, pack, candidates, results, stop);
  return results;
}

CompiledCandidate compile_candidate(CudaCompiler& compiler, const TaskPack& pack, const Candidate& candidate,
                                    const SmLimits& limits, const std::stop_token& stop) {
  return std::move(compile_candidates(compiler, pack, std::span(&candidate, 1), limits, stop)[0]);
}

Facts facts_of(const CompiledCandidate& candidate, const SmLimits& limits) {
  Facts facts;
  if (!candidate.ok || candidate.plans.empty()) return facts;
  if (candidate.has_host_code()) {
    return {{"host_code", 1}, {"kernels", static_cast<double>(candidate.binary.facts.kernels.size())}};
  }
  const LaunchShape* heaviest = nullptr;
  double most = 0;
  for (const Step& step : candidate.plans[0].steps) {
    if (!step.launch) continue;
    const auto& grid = step.launch->grid;
    const double threads = static_cast<double>(grid[0]) * grid[1] * grid[2] * step.launch->threads();
    if (threads > most) heaviest = &*step.launch;
    most = std::max(most, threads);
  }
  const auto& kernels = candidate.binary.facts.kernels;
  const auto kernel = std::find_if(kernels.begin(), kernels.end(), [&](const KernelFacts& known) {
    return heaviest != nullptr && known.name == heaviest->kernel;
  });
  if (kernel == kernels.end()) return facts;
  facts["registers"] = kernel->registers;
  facts["spill_bytes"] = static_cast<double>(kernel->spill_store_bytes + kernel->spill_load_bytes);
  facts["local_bytes"] = static_cast<double>(kernel->stack_bytes);
  facts["static_shared_bytes"] = static_cast<double>(kernel->static_shared_bytes);
  facts["dynamic_shared_bytes"] = heaviest->shared_bytes;
  facts["kernels"] = static_cast<double>(candidate.contract.kernels().size());
  if (const auto occupancy = occupancy_of(limits, *kernel, *heaviest)) {
    facts["occupancy"] = occupancy->share;
    facts["blocks_per_multiprocessor"] = occupancy->blocks_per_multiprocessor;
    facts["waves"] = occupancy->waves;
  }
  return facts;
}

}  // namespace kc
