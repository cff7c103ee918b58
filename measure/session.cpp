#include "measure/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace kc {
namespace {

constexpr std::int64_t kUnseenCpuNs = 20000000;  // what waking up and page faults may add up to
constexpr double kUnseenCpuShare = 0.1;          // of the time of the candidate's own rounds

RunnerSpec runner_spec(const TaskPack& pack, const std::filesystem::path& folder, const CorePair& cores) {
  const ArenaSizes sizes = arena_sizes(pack, pack.outputs);
  RunnerSpec spec;
  spec.folder = folder;
  spec.core = pack.threads > 1 ? -1 : cores.runner;
  spec.yields = cores.shared;
  spec.threads = pack.threads;
  spec.input_bytes = sizes.inputs;
  spec.output_bytes = sizes.outputs;
  return spec;
}

RunnerSpec reference_spec(const TaskPack& pack, const std::filesystem::path& folder, const CorePair& cores) {
  const ArenaSizes sizes = arena_sizes(pack, reference_outputs(pack));
  RunnerSpec spec = runner_spec(pack, folder, cores);
  spec.function = "reference";
  spec.input_bytes = sizes.inputs;
  spec.output_bytes = sizes.outputs;
  return spec;
}

CompileJob job_of(const TaskPack& pack, std::string unit, std::string function, const std::filesystem::path& folder) {
  return {std::move(unit), std::move(function), pack.compiler_flags, folder};
}

Measurement failed(Measurement result, const RunnerFailure& failure) {
  result.status = failure.status;
  result.log = failure.log.substr(0, kLogExcerpt);
  result.cases.clear();
  return result;
}

}  // namespace

HostTask prepare_task(const CompileEnvironment& environment, const TaskPack& pack, const std::filesystem::path& folder,
                      const std::stop_token& stop) {
  const HostTask task{&pack, folder / "reference", folder / "seed"};
  const Candidate seed{pack.seed_name, pack.seed, true, ""};
  const auto results = compile_all(environment,
                                   {job_of(pack, reference_unit(pack), "reference", task.reference_folder),
                                    job_of(pack, candidate_unit(pack, seed), "run", task.seed_folder)},
                                   stop);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].ok) continue;
    throw Error(ErrorKind::bad_data, fmt::format("task {}: the {} does not compile:\n{}", pack.name,
                                                 i == 0 ? "reference" : "seed", results[i].log));
  }
  return task;
}

Session::Session(const CompileEnvironment& environment, const HostTask& task, const CorePair& cores, RngStream rng)
    : environment_(environment),
      task_(task),
      cores_(cores),
      rng_(rng.child("session")),
      reference_(environment, reference_spec(*task.pack, task.reference_folder, cores)),
      seed_(environment, runner_spec(*task.pack, task.seed_folder, cores)) {
  if (const auto failure = reference_.wait_until_loaded()) {
    throw Error(ErrorKind::bad_data, fmt::format("task {}: the reference {}", task.pack->name, failure->log));
  }
  for (std::size_t c = 0; c < task.pack->cases.size(); ++c) {
    pools_.push_back(std::make_unique<InputPool>(*task.pack, task.pack->cases[c], reference_, rng.child(c)));
  }
  auto failure = seed_.wait_until_loaded();
  if (!failure) failure = check_correctness(seed_, seed_estimates_);
  if (failure) throw seed_error(*failure);
}

Error Session::seed_error(const RunnerFailure& failure) const {
  const bool differs = failure.status == MeasurementStatus::incorrect;
  return Error(ErrorKind::bad_data, fmt::format("task {}: the seed {} {}: {}", task_.pack->name, task_.pack->seed_name,
                                                differs ? "and the reference disagree" : "fails", failure.log));
}

Runner Session::start(const std::filesystem::path& folder) const {
  return Runner(environment_, runner_spec(*task_.pack, folder, cores_));
}

std::optional<RunnerFailure> Session::check_correctness(Runner& runner, std::vector<double>& estimates) {
  const auto seeds = static_cast<std::size_t>(environment_.options.correctness_seeds);
  for (auto& pool : pools_) {
    pool->ensure(seeds, seeds, budget_);
    double fastest = 1e12;
    for (std::size_t s = 0; s < seeds; ++s) {
      const auto turn = take_turn(runner, *pool, std::span(&s, 1), rng_);
      if (!turn) return turn.error();
      fastest = std::min(fastest, *turn);
    }
    estimates.push_back(fastest);
  }
  return std::nullopt;
}

std::optional<RunnerFailure> Session::time_cases(Runner& runner, const std::vector<double>& estimates,
                                                 Measurement& result) {
  const HostOptions& options = environment_.options;
  TimingPlan plan;
  plan.budget_s = options.time_budget_s / static_cast<double>(pools_.size());
  plan.min_rounds = static_cast<std::size_t>(options.min_rounds);
  plan.max_rounds = static_cast<std::size_t>(options.max_rounds);
  plan.target_log2_halfwidth = options.target_log2_halfwidth;
  plan.check_sets = static_cast<std::size_t>(options.correctness_seeds);
  plan.pool_budget = &budget_;
  plan.turn_ns = task_.pack->threads > 1 ? 5e6 : plan.turn_ns;
  double timed_ns = 0;
  for (std::size_t c = 0; c < pools_.size(); ++c) {
    PairTiming pair = time_pair(plan, *pools_[c], {&runner, estimates[c]}, {&seed_, seed_estimates_[c]}, rng_);
    if (pair.seed_failure) throw seed_error(*pair.seed_failure);
    if (pair.candidate_failure) return pair.candidate_failure;
    pair.timing.work = work_of(*task_.pack, task_.pack->cases[c]);
    timed_ns += pair.turns_ns;
    result.cases.push_back(std::move(pair.timing));
  }
  if (static_cast<double>(runner.unseen_cpu_ns()) > static_cast<double>(kUnseenCpuNs) + kUnseenCpuShare * timed_ns) {
    return RunnerFailure{
        MeasurementStatus::runtime_error,
        fmt::format("worked {:.0f} ms outside of its timed runs", static_cast<double>(runner.unseen_cpu_ns()) / 1e6)};
  }
  return std::nullopt;
}

Measurement Session::measure(const std::filesystem::path& folder) {
  Measurement result;
  Runner runner = start(folder);
  std::vector<double> estimates;
  if (const auto failure = runner.wait_until_loaded()) return failed(std::move(result), *failure);
  if (const auto failure = check_correctness(runner, estimates)) return failed(std::move(result), *failure);
  if (const auto failure = time_cases(runner, estimates, result)) return failed(std::move(result), *failure);
  return result;
}

double Session::measure_noise() {
  Measurement twin = measure(task_.seed_folder);
  if (twin.status != MeasurementStatus::ok) twin = measure(task_.seed_folder);
  if (twin.status != MeasurementStatus::ok) throw seed_error({twin.status, twin.log});
  return std::fabs(log2_speedup_scalar(twin));
}

}  // namespace kc
