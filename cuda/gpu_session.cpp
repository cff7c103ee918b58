#include "cuda/gpu_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/error.h"
#include "cuda/gpu_speed_limit.h"
#include "measure/memory_need.h"
#include "measure/precision.h"
#include "measure/session.h"
#include "measure/statistics.h"

namespace kc {
namespace {

constexpr std::size_t kSeedProcesses = 4;  // of a session: contexts that wait hold memory of the device and no time
constexpr std::size_t kTurnBytes = std::size_t{64} << 20;
constexpr std::size_t kQueuedSteps = 512;  // of a turn: half of what drivers queue behind a kernel that still runs
constexpr double kTurnNs = 50e3;           // shortest span worth timing: a hundred times the resolution of events
constexpr double kHarnessTurnNs = 1e6;     // the same by the harness's clock: of the way to the runner and back (9 us)
constexpr double kThrottled = 0.75;        // of the highest clock seen
constexpr double kSetSeconds = 5;          // of the reference, for the input sets of a session

RunnerSpec reference_spec(const TaskPack& pack, const std::filesystem::path& folder, std::int64_t seeds) {
  // Before anything is mapped.
  require_memory(pack, {.sets = check_set_count(pack, seeds) + kFewestRounds, .processes = 0}, usable_memory());
  const ArenaSizes sizes = arena_sizes(pack, reference_outputs(pack));
  RunnerSpec spec;
  spec.folder = folder;
  spec.function = "reference";
  spec.yields = choose_cores().shared;  // on no core of its own: sessions of other GPUs have references, too
  spec.input_bytes = sizes.inputs;
  spec.output_bytes = sizes.outputs;
  return spec;
}

}  // namespace

GpuSession::GpuSession(const CudaOptions& options, const CompileEnvironment& environment, GpuTask& task,
                       const std::string& instruments, CudaBackend& backend, RngStream rng, std::stop_token stop)
    : options_(options),
      task_(task),
      instruments_(instruments),
      backend_(backend),
      rng_(rng.child("session")),
      stop_(std::move(stop)),
      others_(backend.monitor ? foreign_processes(*backend.monitor, options.index) : std::vector<unsigned>{}),
      reference_(environment, reference_spec(*task.pack, task.reference_folder, options.correctness_seeds)) {
  if (const auto failure = reference_.wait_until_loaded()) {
    throw Error(ErrorKind::bad_data, fmt::format("task {}: the reference {}", task.pack->name, failure->log));
  }
  for (std::size_t c = 0; c < task.pack->cases.size(); ++c) {
    cases_.push_back({std::make_unique<InputPool>(*task.pack, task.pack->cases[c], reference_, rng.child(c),
                                                  check_set_count(*task.pack, options_.correctness_seeds)),
                      1});
  }
  make_check_sets();
  seed(0);
}

// The sets of a process's rounds are the most that a session keeps: a turn has as many as memory and time allow.
void GpuSession::make_check_sets() {
  const std::size_t count = check_set_count(*task_.pack, options_.correctness_seeds);
  const double sets = static_cast<double>(options_.min_rounds) * static_cast<double>(cases_.size());
  for (CaseSets& sets_of_case : cases_) {
    InputPool& pool = *sets_of_case.pool;
    const auto start = std::chrono::steady_clock::now();
    pool.ensure(count, stop_);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const auto bytes = static_cast<double>(pool.input_layout().bytes + expected_size(pool.check()));
    const double by_memory = static_cast<double>(options_.input_memory_mb << 20) / (sets * bytes);
    const double by_time = kSetSeconds / (sets * seconds.count() / static_cast<double>(count));
    const double most = std::clamp(std::min(by_memory, by_time), 1.0, static_cast<double>(kMaxTurnLaunches));
    sets_of_case.most_launches = static_cast<std::size_t>(most);
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

GpuSide& GpuSession::seed(std::size_t index) {
  while (seeds_.size() <= index) {
    std::unique_ptr<GpuSide> side = start(task_.seed);
    const auto checked = check_cases(*side);
    if (!checked) throw seed_error(checked.error());
    if (seeds_.empty()) seed_estimates_ = checked->estimates;
    seeds_.push_back(std::move(side));
  }
  return *seeds_[index];
}

Expected<GpuSession::Checked, RunnerFailure> GpuSession::check_cases(GpuSide& side) {
  const std::size_t count = check_set_count(*task_.pack, options_.correctness_seeds);
  Checked checked;
  for (std::size_t c = 0; c < cases_.size(); ++c) {
    if (auto failure = side.prepare(c, stop_)) return Unexpected(std::move(*failure));
    const InputPool& pool = *cases_[c].pool;
    double fastest = 1e12;
    std::vector<std::byte> first;
    for (std::size_t turn = 0; turn <= count; ++turn) {
      const std::size_t set = turn % count;  // the first one twice
      const auto sample = side.has_host_code()
                              ? side.turn_by_harness(pool, std::span(&set, 1), empty_ns(c, 1), rng_, stop_)
                              : side.turn(pool, std::span(&set, 1), rng_, stop_);
      if (!sample) return Unexpected(sample.error());
      fastest = std::min(fastest, sample->ns);
      checked.tolerance_share =
          std::max(checked.tolerance_share, share_of_tolerance(pool.check(), pool[set].expected, side.outputs()));
      if (turn == 0) first.assign(side.outputs().begin(), side.outputs().end());
      if (turn == count && !std::ranges::equal(first, side.outputs())) checked.deterministic = false;
    }
    checked.estimates.push_back(fastest);
  }
  return checked;
}

// Turns of one label: processes of the candidate, each beside another one of the seed.
class GpuSession::Bench : public LabelBench {
 public:
  Bench(GpuSession& session, std::unique_ptr<GpuSide> side, const CompiledCandidate& candidate)
      : session_(session),
        side_(std::move(side)),
        candidate_(candidate),
        seed_index_(session.labels_++),
        by_harness_(session.is_timed_by_harness(candidate)),
        launches_(session.cases_.size()),
        overheads_(session.cases_.size()),
        taken_again_(session.cases_.size()) {}

  std::size_t case_count() const override { return session_.cases_.size(); }
  std::size_t most_launches(std::size_t c) const override {
    GpuSide& seed = seed_side();
    if (side_->needs_single_launches() || seed.needs_single_launches()) return 1;
    const std::size_t bytes = std::max(side_->set_bytes(c), seed.set_bytes(c));
    const std::size_t steps = std::max<std::size_t>({side_->steps(c), seed.steps(c), 1});
    return std::clamp<std::size_t>(std::min(kTurnBytes / bytes, kQueuedSteps / steps), 1,
                                   session_.cases_[c].most_launches);
  }
  void ensure_sets(std::size_t c, std::size_t n) override { session_.cases_[c].pool->ensure(n, session_.stop_); }
  double overhead_ns(std::size_t c) const override { return overheads_[c][0] + overheads_[c][1]; }

  std::optional<TimingFailure> next_process() override {
    side_.reset();  // one context of the candidate at a time
    side_ = session_.start(candidate_);
    ++seed_index_;
    taken_again_.assign(case_count(), 0);
    return std::nullopt;
  }

  // L2 is flushed or left as the task says: no warm launches.
  Expected<double, RunnerFailure> turn(Side which, std::size_t c, std::span<const std::size_t> sets,
                                       std::size_t) override {
    GpuSide& side = which == Side::candidate ? *side_ : seed_side();
    if (auto failure = side.prepare(c, session_.stop_)) return Unexpected(std::move(*failure));
    const auto sample = take_turn(side, c, sets);
    if (!sample) return Unexpected(sample.error());
    const auto index = static_cast<std::size_t>(which);
    overheads_[c][index] = sample->overhead_ns;
    last_[index] = *sample;
    last_case_ = c;
    highest_mhz_ = std::max(highest_mhz_, sample->sm_mhz);
    return sample->ns;
  }

  // Not with a clock that had dropped, nor on inputs that a void span has shown to the candidate.
  bool round_counts() override {
    const bool throttled = std::min(last_[0].sm_mhz, last_[1].sm_mhz) < kThrottled * highest_mhz_;
    const bool known = last_[0].inputs_known || last_[1].inputs_known;
    // Each takes input sets of its own, so there are at most twice as many rounds as planned.
    const auto most = static_cast<std::size_t>(session_.options_.min_rounds);
    if ((throttled || known) && taken_again_[last_case_] < most) {
      ++taken_again_[last_case_];
      throttled_ += throttled ? 1 : 0;
      return false;
    }
    unstable_ = unstable_ || throttled || known;
    if (!by_harness_) clocks_.insert(clocks_.end(), {last_[0].sm_mhz, last_[1].sm_mhz});
    return true;
  }

  void end_candidate() { side_.reset(); }
  // Of a turn by the harness's clock, by case.
  const std::vector<std::size_t>& launches() const { return launches_; }

  void add_facts(Facts& facts) const {
    if (by_harness_) {
      facts["host_code"] = 1;
      return;
    }
    facts["frequency_mhz"] = median_of(clocks_);
    facts["throttled_rounds"] = static_cast<double>(throttled_);
    if (unstable_) facts["unstable"] = 1;
  }

 private:
  GpuSide& seed_side() const { return session_.seed(seed_index_ % kSeedProcesses); }

  // Where either side has host code, both are timed by the harness's clock.
  Expected<GpuSample, RunnerFailure> take_turn(GpuSide& side, std::size_t c, std::span<const std::size_t> sets) {
    const InputPool& pool = *session_.cases_[c].pool;
    if (!by_harness_) return side.turn(pool, sets, session_.rng_, session_.stop_);
    launches_[c] = sets.size();
    return side.turn_by_harness(pool, sets, session_.empty_ns(c, sets.size()), session_.rng_, session_.stop_);
  }

  GpuSession& session_;
  std::unique_ptr<GpuSide> side_;
  const CompiledCandidate& candidate_;
  std::size_t seed_index_;
  bool by_harness_;
  std::vector<std::size_t> launches_;             // of a turn by the harness's clock, by case
  std::vector<std::array<double, 2>> overheads_;  // of the last turn of each side, by case
  std::array<GpuSample, 2> last_;
  std::vector<double> clocks_;  // of every turn that counts
  double highest_mhz_ = 0;
  std::vector<std::size_t> taken_again_;  // rounds of this process, by case
  std::size_t last_case_ = 0;
  std::size_t throttled_ = 0;
  bool unstable_ = false;  // too many rounds were void: the rest was kept as it was
};

std::optional<RunnerFailure> GpuSession::time_cases(std::unique_ptr<GpuSide> side, const CompiledCandidate& candidate,
                                                    const Checked& checked, Measurement& result) {
  LabelPlan plan;
  plan.budget_s = options_.time_budget_s;
  plan.process_rounds = static_cast<std::size_t>(options_.min_rounds);
  plan.max_rounds = static_cast<std::size_t>(options_.max_rounds);
  plan.target_halfwidth = options_.target_log2_halfwidth;
  const bool by_harness = is_timed_by_harness(candidate);
  ProcessNoise& noise = by_harness ? task_.harness_noise : task_.noise;
  plan.turn_ns = by_harness ? kHarnessTurnNs : kTurnNs;
  plan.check_sets = check_set_count(*task_.pack, options_.correctness_seeds);
  Bench bench(*this, std::move(side), candidate);
  auto timing = time_label(plan, bench, checked.estimates, seed_estimates_, noise);
  if (!timing && timing.error().side == Side::seed) throw seed_error(timing.error().failure);
  if (!timing) return timing.error().failure;
  if (by_harness) {
    bench.end_candidate();
    if (auto failure = check_seed_alone(timing->cases, bench.launches())) return failure;
  }
  result.cases = std::move(timing->cases);
  for (std::size_t c = 0; c < result.cases.size(); ++c) {
    result.cases[c].name = task_.pack->cases[c].name;
    result.cases[c].work = work_of(*task_.pack, task_.pack->cases[c]);
  }
  const auto impossible = find_impossible_times(backend_.description, *task_.pack, result.cases);
  if (impossible) return RunnerFailure{MeasurementStatus::incorrect, *impossible};
  bench.add_facts(result.facts);
  add_interval(*timing, result.facts);
  result.facts["deterministic"] = checked.deterministic ? 1 : 0;
  result.facts["tolerance_share"] = checked.tolerance_share;
  noise.add(timing->process_log2);
  return std::nullopt;
}

// A killed process may leave a kernel running: nothing is measured beside it. What was there before stays.
void GpuSession::require_idle() {
  if (!backend_.monitor) return;
  std::vector<unsigned> own = others_;
  for (const auto& side : seeds_) own.push_back(side->pid());
  const std::vector<unsigned> others = wait_until_idle(*backend_.monitor, options_.index, own, options_.idle_timeout_s);
  if (others.empty()) return;
  throw Error(
      ErrorKind::environment,
      fmt::format("process {} still uses the GPU {} s after its candidate was stopped; measuring beside it would "
                  "give wrong times. End it, or reset the GPU",
                  others[0], options_.idle_timeout_s));
}

Measurement GpuSession::measure(const CompiledCandidate& candidate) {
  Measurement result;
  if (is_timed_by_harness(candidate)) know_empty_turns();
  if (backend_.monitor) result.facts["other_processes"] = static_cast<double>(others_.size());
  std::unique_ptr<GpuSide> side = start(candidate);
  const auto checked = check_cases(*side);  // all cases, before anything is timed
  auto failure = checked ? time_cases(std::move(side), candidate, *checked, result) : std::optional(checked.error());
  side.reset();
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
