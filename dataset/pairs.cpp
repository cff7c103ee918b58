#include "dataset/pairs.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include <fmt/format.h>

#include "base/error.h"
#include "dataset/pair_groups.h"

namespace kc {
namespace {

// The order in which bins take a remainder: the middle first.
constexpr std::array<Bin, kBins> kMiddleFirst = {4, 5, 3, 6, 2, 7, 1, 8};

std::array<std::uint64_t, kBins> targets_of(std::int64_t count) {
  std::array<std::uint64_t, kBins> targets;
  targets.fill(static_cast<std::uint64_t>(count / kBins));
  for (std::int64_t i = 0; i < count % kBins; ++i) ++targets[kMiddleFirst[i] - 1];
  return targets;
}

// How many of `count` each holder gives. A remainder smaller than the number of holders goes to random ones.
std::vector<std::uint64_t> water_fill(std::uint64_t count, std::vector<std::uint64_t> held, RngStream rng) {
  std::vector<std::uint64_t> given(held.size(), 0);
  std::vector<std::size_t> active(held.size());
  std::iota(active.begin(), active.end(), std::size_t{0});
  rng.shuffle(active);
  for (;;) {
    std::erase_if(active, [&held](std::size_t i) { return held[i] == 0; });
    if (count == 0 || active.empty()) return given;
    const std::uint64_t share = std::max<std::uint64_t>(1, count / active.size());
    for (const std::size_t i : active) {
      const std::uint64_t take = std::min({share, held[i], count});
      given[i] += take;
      held[i] -= take;
      count -= take;
    }
  }
}

// A uniform subset of [0, total) of the given size, by Floyd's method: one draw for each member.
std::vector<std::uint64_t> distinct_ranks(std::uint64_t size, std::uint64_t total, RngStream rng) {
  std::unordered_set<std::uint64_t> chosen;
  std::vector<std::uint64_t> ranks;
  for (std::uint64_t top = total - size; top < total; ++top) {
    const std::uint64_t rank = rng.below(top + 1);
    ranks.push_back(chosen.contains(rank) ? top : rank);
    chosen.insert(ranks.back());
  }
  return ranks;
}

// One draw: the ranks of every group, grouped by task.
class Draw {
 public:
  Draw(const std::vector<PairGroup>& groups, const PairDrawOptions& options) : groups_(groups) {
    for (std::size_t g = 0; g < groups.size(); ++g) {
      ranks_.emplace_back(groups[g], options.binning, options.seed_reference_only);
      if (g == 0 || groups[g].task != groups[g - 1].task) tasks_.emplace_back();
      tasks_.back().push_back(g);
    }
  }

  // Returns how many were missing.
  std::uint64_t take(Bin bin, std::uint64_t target, const RngStream& rng, std::vector<PairRow>& rows) const {
    std::vector<std::uint64_t> held;
    for (const auto& members : tasks_) held.push_back(sum(counts(members, bin)));
    const auto quota = water_fill(target, held, rng.child("tasks"));
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      const RngStream task_rng = rng.child(groups_[tasks_[t].front()].task);
      const auto shares = water_fill(quota[t], counts(tasks_[t], bin), task_rng.child("devices"));
      for (std::size_t d = 0; d < shares.size(); ++d) {
        take_from(tasks_[t][d], bin, distinct_ranks(shares[d], ranks_[tasks_[t][d]].count(bin), task_rng.child(d)),
                  rows);
      }
    }
    return target - sum(quota);
  }

 private:
  static std::uint64_t sum(const std::vector<std::uint64_t>& values) {
    return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
  }

  std::vector<std::uint64_t> counts(const std::vector<std::size_t>& members, Bin bin) const {
    std::vector<std::uint64_t> result;
    for (const std::size_t g : members) result.push_back(ranks_[g].count(bin));
    return result;
  }

  void take_from(std::size_t group, Bin bin, const std::vector<std::uint64_t>& ranks,
                 std::vector<PairRow>& rows) const {
    const PairGroup& g = groups_[group];
    for (const std::uint64_t rank : ranks) {
      const PairRanks::Place place = ranks_[group].at(bin, rank);
      PairRow row;
      row.reference = g.rows[place.reference];
      row.candidate = g.rows[place.candidate];
      row.kind = g.is_seed[place.reference] ? PairKind::seed : PairKind::pair;
      row.log2_speedup = pair_log2(g.scalars[place.reference], g.scalars[place.candidate]);
      row.bin = bin;
      rows.push_back(row);
    }
  }

  const std::vector<PairGroup>& groups_;
  std::vector<PairRanks> ranks_;
  std::vector<std::vector<std::size_t>> tasks_;  // groups of each task
};

}  // namespace

std::string name_of(PairKind kind) {
  switch (kind) {
    case PairKind::seed:
      return "seed";
    case PairKind::parent_edit:
      return "parent_edit";
    case PairKind::pair:
      return "pair";
  }
  throw Error(ErrorKind::internal, "a pair kind has no name");
}

PairSampler::PairSampler(const Store& store, const std::vector<Part>& parts, Part part)
    : groups_(pair_groups(store, parts, part)) {}
PairSampler::~PairSampler() = default;
PairSampler::PairSampler(PairSampler&&) noexcept = default;
PairSampler& PairSampler::operator=(PairSampler&&) noexcept = default;

PairDraw PairSampler::draw_balanced(const PairDrawOptions& options, RngStream rng) const {
  if (options.count < 0) {
    throw Error(ErrorKind::usage, fmt::format("cannot draw {} pairs: the count must not be negative", options.count));
  }
  const Draw draw(groups_, options);
  const auto targets = targets_of(options.count);
  PairDraw result;
  for (Bin bin = 1; bin <= kBins; ++bin) {
    result.shortfall[bin - 1] = static_cast<std::int64_t>(
        draw.take(bin, targets[bin - 1], rng.child("bin").child(static_cast<std::uint64_t>(bin)), result.rows));
  }
  RngStream order = rng.child("order");
  order.shuffle(result.rows);
  return result;
}

std::array<std::int64_t, kBins> PairSampler::available(Binning binning) const {
  std::array<std::int64_t, kBins> counts{};
  for (const PairGroup& group : groups_) {
    const PairRanks ranks(group, binning, false);
    for (Bin bin = 1; bin <= kBins; ++bin) counts[bin - 1] += static_cast<std::int64_t>(ranks.count(bin));
  }
  return counts;
}

std::size_t PairSampler::kernels() const {
  std::size_t count = 0;
  for (const PairGroup& group : groups_) count += group.rows.size();
  return count;
}

}  // namespace kc
