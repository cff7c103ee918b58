#include "cuda/gpu_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "measure/session.h"
#include "measure/statistics.h"

namespace kc {
namespace {

RunnerSpec reference_spec(const TaskPack& pack, const std::filesystem::path& folder) {
  const ArenaSizes sizes = arena_sizes(pack, reference_outputs(pack));
  const CorePair cores = choose_cores();
  RunnerSpec spec;
  spec.folder = folder;
  spec.function = "reference";
  spec.core = cores.runner;
  spec.yields = cores.shared;
  spec.input_bytes = sizes.inputs;
  spec.output_bytes = sizes.outputs;
  return spec;
}

}  // namespace

GpuSession::GpuSession(const CudaOptions& options, const CompileEnvironment& environment, const GpuTask& task,
                       const std::string& instruments, CudaBackend& backend, RngStream rng, std::stop_token stop)
    : options_(options),
      task_(task),
      instruments_(instruments),
      backend_(backend),
      rng_(rng.child("session")),
      stop_(std::move(stop)),
      reference_(environment, reference_spec(*task.pack, task.reference_folder)) {
  if (const auto failure = reference_.wait_until_loaded()) {
    throw Error(ErrorKind::bad_data, fmt::format("task {}: the reference {}", task.pack->name, failure->log));
  }
  for (std::size_t c = 0; c < task.pack->cases.size(); ++c) {
    pools_.push_back(std::make_unique<InputPool>(*task.pack, task.pack->cases[c], reference_, rng.child(c)));
  }
  seed_ = start(task.seed);
  for (std::size_t c = 0; c < pools_.size(); ++c) {
    double estimate = 0;
    if (const auto failure = check_case(*seed_, c, estimate)) throw seed_error(*failure);
  }
}

Error GpuSession::seed_error(const RunnerFailure& failure) const {
  const bool differs = failure.status == MeasurementStatus::incorrect;
  return Error(ErrorKind::bad_data, fmt::format("task {}: the seed {} {}: {}", task_.pack->name, task_.pack->seed_name,
                                                differs ? "and the reference disagree" : "fails", failure.log));
}

std::unique_ptr<GpuSide> GpuSession::start(const CompiledCandidate& candidate) {
  return std::make_unique<GpuSide>(*task_.pack, candidate, instruments_, backend_.start(), options_.run_timeout_s);
}

std::optional<RunnerFailure> GpuSession::check_case(GpuSide& side, std::size_t index, double& estimate_ns) {
  if (auto failure = side.prepare(index, stop_)) return failure;
  const auto seeds = static_cast<std::size_t>(options_.correctness_seeds);
  InputPool& pool = *pools_[index];
  ensure_sets(pool, seeds, seeds, budget_);
  estimate_ns = 1e12;
  for (std::size_t s = 0; s < seeds; ++s) {
    const auto sample = side.turn(pool, std::span(&s, 1), rng_, stop_);
    if (!sample) return sample.error();
    estimate_ns = std::min(estimate_ns, sample->ns);
  }
  return std::nullopt;
}

std::optional<RunnerFailure> GpuSession::time_cases(GpuSide& side, Measurement& result) {
  GpuTimingPlan plan;
  plan.budget_s = options_.time_budget_s / static_cast<double>(pools_.size());
  plan.min_rounds = static_cast<std::size_t>(options_.min_rounds);
  plan.max_rounds = static_cast<std::size_t>(options_.max_rounds);
  plan.target_log2_halfwidth = options_.target_log2_halfwidth;
  plan.check_sets = static_cast<std::size_t>(options_.correctness_seeds);
  plan.set_budget = &budget_;
  std::vector<double> clocks;
  for (std::size_t c = 0; c < pools_.size(); ++c) {
    double estimate = 0;
    double seed_estimate = 0;
    if (auto failure = check_case(side, c, estimate)) return failure;
    if (const auto failure = check_case(*seed_, c, seed_estimate)) throw seed_error(*failure);
    GpuPairTiming pair = time_gpu_pair(plan, *pools_[c], {&side, estimate}, {seed_.get(), seed_estimate}, rng_, stop_);
    if (pair.seed_failure) throw seed_error(*pair.seed_failure);
    if (pair.candidate_failure) return pair.candidate_failure;
    pair.timing.work = work_of(*task_.pack, task_.pack->cases[c]);
    result.facts["throttled_rounds"] += static_cast<double>(pair.throttled);
    if (pair.unstable) result.facts["unstable"] = 1;
    clocks.insert(clocks.end(), pair.sm_mhz.begin(), pair.sm_mhz.end());
    result.cases.push_back(std::move(pair.timing));
  }
  if (!clocks.empty()) result.facts["frequency_mhz"] = median_of(clocks);
  return std::nullopt;
}

// A killed process may leave a kernel running: nothing is measured beside it.
void GpuSession::require_idle() {
  if (!backend_.monitor) return;
  const std::vector<unsigned> others =
      wait_until_idle(*backend_.monitor, options_.index, {seed_->pid()}, options_.idle_timeout_s);
  if (others.empty()) return;
  throw Error(
      ErrorKind::environment,
      fmt::format("process {} still uses the GPU {} s after its candidate was stopped; measuring beside it would "
                  "give wrong times. End it, or reset the GPU",
                  others[0], options_.idle_timeout_s));
}

Measurement GpuSession::measure(const CompiledCandidate& candidate) {
  Measurement result;
  std::optional<RunnerFailure> failure;
  {
    const std::unique_ptr<GpuSide> side = start(candidate);
    for (std::size_t c = 0; c < pools_.size() && !failure; ++c) {  // all cases, before anything is timed
      double estimate = 0;
      failure = check_case(*side, c, estimate);
    }
    if (!failure) failure = time_cases(*side, result);
  }
  if (!failure) return result;
  require_idle();
  return failed(std::move(result), *failure);
}

double GpuSession::measure_noise() {
  const Measurement twin = measure(task_.seed);
  if (twin.status != MeasurementStatus::ok) throw seed_error({twin.status, twin.log});
  return std::fabs(log2_speedup_scalar(twin));
}

}  // namespace kc
