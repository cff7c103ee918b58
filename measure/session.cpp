#include "measure/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/interrupt.h"
#include "measure/memory_need.h"
#include "measure/precision.h"
#include "measure/speed_limit.h"
#include "measure/statistics.h"
#include "measure/turns.h"

namespace kc {
namespace {

constexpr std::size_t kSeedProcesses = 4;
constexpr std::chrono::milliseconds kColdHold(5);   // of the core, while inputs are copied
constexpr std::chrono::milliseconds kWarmHold(50);  // and read
constexpr double kThreadedTurnNs = 5e6;
constexpr double kRoundOverheadNs = 250e3;   // waking, copying, checking
constexpr double kUnseenCpuNs = 20e6;        // what waking up and page faults may add up to
constexpr double kThreadsUnseenCpuNs = 5e6;  // honest ones 0 to 2 ms, one that spins 25 to 230, whatever the load
constexpr double kUnseenCpuShare = 0.1;      // of the time of the candidate's own rounds

RunnerSpec runner_spec(const TaskPack& pack, const std::filesystem::path& folder, const CorePair& cores,
                       CoreHold& hold) {
  const ArenaSizes sizes = arena_sizes(pack, pack.outputs);
  RunnerSpec spec;
  spec.folder = folder;
  spec.core = pack.threads > 1 ? -1 : cores.runner;
  spec.yields = cores.shared;
  spec.threads = pack.threads;
  spec.hold = &hold;
  spec.input_bytes = sizes.inputs;
  spec.output_bytes = sizes.outputs;
  return spec;
}

RunnerSpec reference_spec(const TaskPack& pack, const std::filesystem::path& folder, const CorePair& cores,
                          CoreHold& hold) {
  // Before anything is mapped. What admission takes, which is the least; a label takes some times as much.
  require_memory(pack, {.sets = 2, .processes = 1}, usable_memory());
  const ArenaSizes sizes = arena_sizes(pack, reference_outputs(pack));
  RunnerSpec spec = runner_spec(pack, folder, cores, hold);
  spec.function = "reference";
  spec.input_bytes = sizes.inputs;
  spec.output_bytes = sizes.outputs;
  return spec;
}

// Threads of a task stay on no core, and harness and runner may share the only one.
bool has_own_core(const TaskPack& pack, const CorePair& cores) { return pack.threads == 1 && !cores.shared; }

std::unique_ptr<CoreHold> make_hold(const CompileEnvironment& environment, const TaskPack& pack,
                                    const CorePair& cores) {
  const bool can_hold = environment.options.real_time && has_own_core(pack, cores);
  auto hold = std::make_unique<CoreHold>(can_hold ? cores.runner : -1, pack.cold_cache ? kColdHold : kWarmHold);
  if (pack.cold_cache || hold->works()) return hold;
  throw Error(
      ErrorKind::environment,
      fmt::format("task {}: `cache: warm` needs a second core and the right to real time (root, or RLIMIT_RTPRIO; "
                  "measure.real_time): nobody else can warm a core's caches without showing a candidate its inputs",
                  pack.name));
}

std::vector<std::byte> copy_outputs(const SetLayout& layout, std::span<const std::byte> outputs) {
  std::vector<std::byte> bytes;
  for (const BufferSpan& span : layout.buffers) {
    const auto buffer = outputs.subspan(span.offset, span.bytes);
    bytes.insert(bytes.end(), buffer.begin(), buffer.end());
  }
  return bytes;
}

}  // namespace

Measurement failed(Measurement result, const RunnerFailure& failure) {
  result.status = failure.status;
  result.log = failure.log.substr(0, kLogExcerpt);
  result.cases.clear();
  return result;
}

HostTask prepare_task(const CompileEnvironment& environment, const TaskPack& pack, const std::filesystem::path& folder,
                      const std::stop_token& stop) {
  const HostTask task{&pack, folder / "reference", folder / "seed"};
  const Candidate seed{pack.seed_name, pack.seed, true, ""};
  const auto results = compile_all(
      environment, {reference_job(pack, task.reference_folder), candidate_job(pack, seed, task.seed_folder)}, stop);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].ok) continue;
    throw Error(ErrorKind::bad_data, fmt::format("task {}: the {} does not compile:\n{}", pack.name,
                                                 i == 0 ? "reference" : "seed", results[i].log));
  }
  return task;
}

Session::Session(const CompileEnvironment& environment, const HostTask& task, const CorePair& cores, RngStream rng,
                 const std::stop_token& stop)
    : environment_(environment),
      task_(task),
      cores_(cores),
      rng_(rng.child("session")),
      hold_(make_hold(environment, *task.pack, cores)),
      reference_(environment, reference_spec(*task.pack, task.reference_folder, cores, *hold_)) {
  if (const auto failure = reference_.wait_until_loaded()) {
    throw Error(ErrorKind::bad_data, fmt::format("task {}: the reference {}", task.pack->name, failure->log));
  }
  const std::size_t check_sets = check_set_count(*task.pack, environment.options.correctness_seeds);
  for (std::size_t c = 0; c < task.pack->cases.size(); ++c) {
    pools_.push_back(
        std::make_unique<InputPool>(*task.pack, task.pack->cases[c], reference_, rng.child(c), check_sets));
  }
  seeds_.reserve(kSeedProcesses);
  seed(0, stop);
}

bool Session::is_alive() {
  const auto runs = [](Runner& runner) { return !runner.has_ended() && !runner.is_stopped(); };
  return runs(reference_) && std::ranges::all_of(seeds_, runs);
}

Error Session::seed_error(const RunnerFailure& failure) const {
  const bool differs = failure.status == MeasurementStatus::incorrect;
  return Error(ErrorKind::bad_data, fmt::format("task {}: the seed {} {}: {}", task_.pack->name, task_.pack->seed_name,
                                                differs ? "and the reference disagree" : "fails", failure.log));
}

Runner Session::start(const std::filesystem::path& folder) const {
  return Runner(environment_, runner_spec(*task_.pack, folder, cores_, *hold_));
}

Runner& Session::seed(std::size_t index, const std::stop_token& stop) {
  while (seeds_.size() <= index) {
    Runner runner = start(task_.seed_folder);
    if (const auto failure = runner.wait_until_loaded()) throw seed_error(*failure);
    const auto checked = check_correctness(runner, stop);
    if (!checked) throw seed_error(checked.error());
    if (seeds_.empty()) seed_estimates_ = checked->estimates;
    seeds_.push_back(std::move(runner));
  }
  return seeds_[index];
}

Expected<Session::Checked, RunnerFailure> Session::check_correctness(Runner& runner, const std::stop_token& stop) {
  const std::size_t seeds = check_set_count(*task_.pack, environment_.options.correctness_seeds);
  Checked checked;
  for (auto& pool : pools_) {
    pool->ensure(seeds, stop);
    double fastest = 1e12;
    std::vector<std::byte> first;
    for (std::size_t turn = 0; turn <= seeds; ++turn) {
      const std::size_t set = turn % seeds;  // the first one twice
      throw_if_stopped(stop);
      const auto nanoseconds = take_turn(runner, *pool, std::span(&set, 1), rng_);
      if (!nanoseconds) return Unexpected(nanoseconds.error());
      fastest = std::min(fastest, *nanoseconds);
      checked.tolerance_share =
          std::max(checked.tolerance_share, share_of_tolerance(pool->check(), (*pool)[set].expected, runner.outputs()));
      if (turn == 0) first = copy_outputs(pool->check().layout, runner.outputs());
      if (turn == seeds && first != copy_outputs(pool->check().layout, runner.outputs())) checked.deterministic = false;
    }
    checked.estimates.push_back(fastest);
  }
  return checked;
}

// Turns of one label: processes of the candidate, each beside another one of the seed.
class Session::Bench : public LabelBench {
 public:
  Bench(Session& session, Runner runner, const std::filesystem::path& folder, const std::stop_token& stop)
      : session_(session), runner_(std::move(runner)), folder_(folder), stop_(stop), seed_index_(session.labels_++) {}

  std::size_t case_count() const override { return session_.pools_.size(); }
  std::size_t most_launches(std::size_t c) const override { return launches_that_fit(*session_.pools_[c], runner_); }
  void ensure_sets(std::size_t c, std::size_t count) override { session_.pools_[c]->ensure(count, stop_); }

  double overhead_ns(std::size_t) const override { return kRoundOverheadNs; }

  std::optional<TimingFailure> next_process() override {
    if (auto failure = find_unseen_work()) return TimingFailure{Side::candidate, *failure};
    runner_ = session_.start(folder_);
    ++seed_index_;
    turns_ns_ = 0;
    if (auto failure = runner_.wait_until_loaded()) return TimingFailure{Side::candidate, *failure};
    return std::nullopt;
  }

  Expected<double, RunnerFailure> turn(Side side, std::size_t c, std::span<const std::size_t> sets,
                                       std::size_t warm_launches) override {
    throw_if_stopped(stop_);
    const bool is_candidate = side == Side::candidate;
    Runner& runner = is_candidate ? runner_ : session_.seed(seed_index_ % kSeedProcesses, stop_);
    const auto nanoseconds = take_turn(runner, *session_.pools_[c], sets, session_.rng_, warm_launches);
    if (nanoseconds && is_candidate) turns_ns_ += *nanoseconds * static_cast<double>(sets.size());
    return nanoseconds;
  }

  bool is_quiet() override {
    if (!has_own_core(*session_.task_.pack, session_.cores_)) return true;  // none can be looked at
    std::int64_t nanoseconds = 0;
    if (session_.reference_.witness(nanoseconds)) return true;  // its own turns will tell
    return session_.task_.watch->add(nanoseconds);
  }

  std::optional<RunnerFailure> find_unseen_work() const {
    const auto unseen_ns = static_cast<double>(runner_.unseen_cpu_ns());
    const double allowed_ns = session_.task_.pack->threads > 1 ? kThreadsUnseenCpuNs : kUnseenCpuNs;
    if (unseen_ns <= allowed_ns + kUnseenCpuShare * turns_ns_) return std::nullopt;
    return RunnerFailure{MeasurementStatus::runtime_error,
                         fmt::format("worked {:.0f} ms outside of its timed runs", unseen_ns / 1e6)};
  }

 private:
  Session& session_;
  Runner runner_;
  const std::filesystem::path& folder_;
  const std::stop_token& stop_;
  std::size_t seed_index_;
  double turns_ns_ = 0;  // of the process that runs now
};

std::optional<RunnerFailure> Session::time_cases(Runner runner, const std::filesystem::path& folder,
                                                 const Checked& checked, const std::stop_token& stop,
                                                 Measurement& result) {
  const HostOptions& options = environment_.options;
  LabelPlan plan;
  plan.budget_s = options.time_budget_s;
  plan.process_rounds = static_cast<std::size_t>(options.min_rounds);
  plan.max_rounds = static_cast<std::size_t>(options.max_rounds);
  plan.target_halfwidth = options.target_log2_halfwidth;
  plan.earlier = task_.watch->remembered();
  plan.unseen_neighbours = is_virtual_machine();
  plan.check_sets = check_set_count(*task_.pack, options.correctness_seeds);
  plan.turn_ns = task_.pack->threads > 1 ? kThreadedTurnNs : plan.turn_ns;
  Bench bench(*this, std::move(runner), folder, stop);
  auto timing = time_label(plan, bench, checked.estimates, seed_estimates_, *task_.noise);
  if (!timing && timing.error().side == Side::seed) throw seed_error(timing.error().failure);
  if (!timing) return timing.error().failure;
  if (auto failure = bench.find_unseen_work()) return failure;
  result.cases = std::move(timing->cases);
  for (std::size_t c = 0; c < result.cases.size(); ++c) {
    result.cases[c].name = task_.pack->cases[c].name;
    result.cases[c].work = work_of(*task_.pack, task_.pack->cases[c]);
  }
  for (std::size_t c = 0; c < result.cases.size(); ++c) {
    const std::vector<float>& times = result.cases[c].candidate_ns;
    const double median = median_of({times.begin(), times.end()});
    if (auto fault = find_impossible_time(*task_.pack, task_.pack->cases[c], median)) {
      return RunnerFailure{MeasurementStatus::incorrect, *fault};
    }
  }
  add_interval(*timing, result.facts);
  result.facts["repeated_rounds"] = static_cast<double>(timing->repeated_rounds);
  result.facts["disturbed_rounds"] = static_cast<double>(timing->rounds.disturbed);
  result.facts["virtual_machine"] = plan.unseen_neighbours ? 1 : 0;
  result.facts["deterministic"] = checked.deterministic ? 1 : 0;
  result.facts["tolerance_share"] = checked.tolerance_share;
  task_.noise->add(timing->process_log2);
  task_.watch->remember(timing->rounds);
  return std::nullopt;
}

Measurement Session::measure(const std::filesystem::path& folder, const std::stop_token& stop) {
  Measurement result;
  Runner runner = start(folder);
  if (const auto failure = runner.wait_until_loaded()) return failed(std::move(result), *failure);
  const auto checked = check_correctness(runner, stop);
  if (!checked) return failed(std::move(result), checked.error());
  if (const auto failure = time_cases(std::move(runner), folder, *checked, stop, result)) {
    return failed(std::move(result), *failure);
  }
  return result;
}

double Session::measure_noise(const std::stop_token& stop) {
  Measurement twin = measure(task_.seed_folder, stop);
  if (twin.status != MeasurementStatus::ok) twin = measure(task_.seed_folder, stop);
  if (twin.status != MeasurementStatus::ok) throw seed_error({twin.status, twin.log});
  return std::fabs(log2_speedup_scalar(twin));
}

double Session::seed_share_of_tolerance(std::size_t input_case, const std::stop_token& stop) {
  const std::size_t set = 0;
  InputPool& pool = *pools_[input_case];
  Runner& runner = seed(0, stop);
  const auto turn = take_turn(runner, pool, std::span(&set, 1), rng_);
  if (!turn) throw seed_error(turn.error());
  return share_of_tolerance(pool.check(), pool[set].expected, runner.outputs());
}

}  // namespace kc
