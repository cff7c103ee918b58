// What labels by the harness's clock need beside their turns (docs/cuda.md, "Host code"). All of it is taken in seed
// processes, while none of the candidate's is there to have a hand in it.
#include <fmt/format.h>

#include <algorithm>

#include "cuda/gpu_session.h"
#include "measure/statistics.h"

namespace kc {
namespace {

constexpr std::size_t kTurnsAlone = 5;
constexpr double kMostSlowdown = 1.25;  // of the seed beside a candidate: more than clocks make
constexpr std::size_t kMostEmptyBytes = std::size_t{64} << 20;

// The sets of the check before timing, one after another.
std::vector<std::size_t> check_sets(std::size_t launches, std::size_t count) {
  std::vector<std::size_t> sets(launches);
  for (std::size_t l = 0; l < launches; ++l) sets[l] = l % count;
  return sets;
}

}  // namespace

void GpuSession::know_empty_turns() {
  GpuSide& side = seed(0);
  const std::size_t count = check_set_count(*task_.pack, options_.correctness_seeds);
  for (std::size_t c = empty_turns_.size(); c < cases_.size(); ++c) {
    const auto empty_ns = [&](std::size_t launches) {
      const auto ns = side.empty_turn_ns(*cases_[c].pool, check_sets(launches, count), rng_, stop_);
      if (!ns) throw seed_error(ns.error());
      return *ns;
    };
    if (const auto failure = side.prepare(c, stop_)) throw seed_error(*failure);
    const std::size_t most = std::clamp<std::size_t>(kMostEmptyBytes / side.set_bytes(c), 1, kMaxTurnLaunches);
    const double one = empty_ns(1);
    const double further = most > 1 ? (empty_ns(most) - one) / static_cast<double>(most - 1) : 0;
    empty_turns_.push_back({one, std::max(further, 0.0)});
  }
}

double GpuSession::empty_ns(std::size_t input_case, std::size_t launches) const {
  if (input_case >= empty_turns_.size()) return 0;  // not known yet: the seed is checked before that
  const EmptyTurns& turns = empty_turns_[input_case];
  return turns.one_ns + static_cast<double>(launches - 1) * turns.further_ns;
}

// Of all seed processes there are: they differ, and a label's turns are of several.
double GpuSession::seed_alone_ns(std::size_t input_case, std::size_t launches) {
  const auto sets = check_sets(launches, check_set_count(*task_.pack, options_.correctness_seeds));
  std::vector<double> times_ns;
  for (const auto& side : seeds_) {
    if (const auto failure = side->prepare(input_case, stop_)) throw seed_error(*failure);
    for (std::size_t turn = 0; turn < kTurnsAlone; ++turn) {
      const auto sample =
          side->turn_by_harness(*cases_[input_case].pool, sets, empty_ns(input_case, launches), rng_, stop_);
      if (!sample) throw seed_error(sample.error());
      times_ns.push_back(sample->ns);
    }
  }
  return median_of(times_ns);
}

std::optional<RunnerFailure> GpuSession::check_seed_alone(std::span<const CaseTiming> beside,
                                                          const std::vector<std::size_t>& launches) {
  require_idle();
  for (std::size_t c = 0; c < beside.size(); ++c) {
    const auto& times = beside[c].reference_ns;
    const double beside_ns = median_of(std::vector<double>(times.begin(), times.end()));
    const double slowdown = beside_ns / seed_alone_ns(c, launches[c]);
    if (slowdown <= kMostSlowdown) continue;
    return RunnerFailure{MeasurementStatus::runtime_error,
                         fmt::format("case {}: the seed was {:.2f} times slower beside the host code's process than "
                                     "alone: it used the device or the processor out of its turn",
                                     task_.pack->cases[c].name, slowdown)};
  }
  return std::nullopt;
}

}  // namespace kc
