#include "dataset/pair_groups.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <unordered_map>

#include "dataset/task_states.h"

namespace kc {
namespace {

constexpr double kEdgeTolerance = 1e-12;

using GroupKey = std::tuple<std::string, std::string, std::string>;

GroupKey group_key(const Measurement& m) {
  std::string cases;
  for (const CaseTiming& timing : m.cases) {
    cases += timing.name;
    cases += timing.reference_ns.empty() ? "\n" : " with reference\n";
  }
  return {m.task, m.provenance.device, std::move(cases)};
}

// The last row of each kernel of a task and device, of the task as it is: speedups against another seed or on other
// sizes cannot be divided by each other.
std::vector<std::size_t> latest_rows(const Store& store, const std::vector<Part>& parts, Part part) {
  std::unordered_map<std::string_view, std::size_t> sources;
  std::map<std::tuple<std::size_t, std::string_view, std::string_view, std::string>, std::size_t> latest;
  const std::vector<bool> is_current = rows_of_current_state(store);
  for (std::size_t i = 0; i < store.measurements.size(); ++i) {
    if (parts[i] != part || !is_current[i]) continue;
    const Measurement& m = store.measurements[i];
    std::string parameters = m.kernel.template_id;
    for (const auto& [name, value] : m.kernel.parameters)
      parameters.append("\n").append(name).append(" ").append(value);
    const std::size_t source = sources.try_emplace(m.kernel.source, sources.size()).first->second;
    latest[{source, m.task, m.provenance.device, std::move(parameters)}] = i;
  }
  std::vector<std::size_t> rows;
  for (const auto& [key, row] : latest) rows.push_back(row);
  std::sort(rows.begin(), rows.end());
  return rows;
}

PairGroup sorted(const PairGroup& group) {
  std::vector<std::size_t> order(group.rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&group](std::size_t a, std::size_t b) { return group.scalars[a] < group.scalars[b]; });
  PairGroup result{group.task, group.device, {}, {}, {}};
  for (const std::size_t i : order) {
    result.rows.push_back(group.rows[i]);
    result.scalars.push_back(group.scalars[i]);
    result.is_seed.push_back(group.is_seed[i]);
  }
  return result;
}

}  // namespace

std::vector<PairGroup> pair_groups(const Store& store, const std::vector<Part>& parts, Part part) {
  std::map<GroupKey, PairGroup> groups;
  for (const std::size_t i : latest_rows(store, parts, part)) {
    const Measurement& m = store.measurements[i];
    if (m.status != MeasurementStatus::ok) continue;
    PairGroup& group = groups[group_key(m)];
    group.task = m.task;
    group.device = m.provenance.device;
    group.rows.push_back(i);
    group.scalars.push_back(log2_speedup_scalar(m));
    group.is_seed.push_back(m.is_seed);
  }
  std::vector<PairGroup> result;
  for (const auto& [key, group] : groups) result.push_back(sorted(group));
  return result;
}

double pair_log2(double reference, double candidate) {
  const double difference = candidate - reference;
  const double half_steps = std::round(2 * difference) / 2;
  return std::abs(difference - half_steps) < kEdgeTolerance ? half_steps : difference;
}

// The bin rises with the candidate and falls with the reference, so each bin's end moves one way as the reference
// rises.
PairRanks::PairRanks(const PairGroup& group, Binning binning, bool seed_reference_only) : own_bin_(bin_of(1, binning)) {
  const std::size_t n = group.rows.size();
  std::array<std::size_t, kBins> end{};
  end.back() = n;
  for (std::size_t r = 0; r < n; ++r) {
    for (Bin bin = 1; bin <= kBins; ++bin) {
      std::size_t& e = end[bin - 1];
      while (e < n && bin_of(std::exp2(pair_log2(group.scalars[r], group.scalars[e])), binning) <= bin) ++e;
      const std::size_t begin = bin == 1 ? 0 : end[bin - 2];
      std::uint64_t count = e - begin - (bin == own_bin_ ? 1 : 0);
      if (seed_reference_only && !group.is_seed[r]) count = 0;
      auto& ends = ends_[bin - 1];
      begins_[bin - 1].push_back(static_cast<std::uint32_t>(begin));
      ends.push_back((ends.empty() ? 0 : ends.back()) + count);
    }
  }
}

PairRanks::Place PairRanks::at(Bin bin, std::uint64_t rank) const {
  const auto& ends = ends_[bin - 1];
  const auto it = std::upper_bound(ends.begin(), ends.end(), rank);
  Place place;
  place.reference = static_cast<std::size_t>(it - ends.begin());
  const std::uint64_t before = it == ends.begin() ? 0 : *std::prev(it);
  place.candidate = begins_[bin - 1][place.reference] + static_cast<std::size_t>(rank - before);
  if (bin == own_bin_ && place.candidate >= place.reference) ++place.candidate;
  return place;
}

}  // namespace kc
