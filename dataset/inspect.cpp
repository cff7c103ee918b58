#include "dataset/inspect.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <unordered_set>

#include <nlohmann/json.hpp>

#include "dataset/pair_groups.h"
#include "dataset/pairs.h"

namespace kc {
namespace {

using nlohmann::json;
using GroupKey = std::pair<std::string, std::string>;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double variation(const std::vector<float>& times) {
  const double n = static_cast<double>(times.size());
  const double mean = std::accumulate(times.begin(), times.end(), 0.0) / n;
  double squares = 0;
  for (const float t : times) squares += (static_cast<double>(t) - mean) * (static_cast<double>(t) - mean);
  return std::sqrt(squares / (n - 1)) / mean;
}

std::vector<GroupSummary> summarise_groups(const Store& store) {
  std::map<GroupKey, GroupSummary> groups;
  std::map<GroupKey, std::vector<double>> noise;
  for (const Measurement& m : store.measurements) {
    const GroupKey key{m.task, m.provenance.device};
    ++groups[key].by_status[static_cast<std::size_t>(m.status)];
    for (const CaseTiming& timing : m.cases) {
      if (timing.candidate_ns.size() > 1) noise[key].push_back(variation(timing.candidate_ns));
    }
  }
  const std::vector<Part> all(store.measurements.size(), Part::train);
  for (const PairGroup& comparable : pair_groups(store, all, Part::train)) {
    const PairRanks ranks(comparable, Binning::edges, false);
    auto& bins = groups[{comparable.task, comparable.device}].pairs_by_bin;
    for (Bin bin = 1; bin <= kBins; ++bin) bins[bin - 1] += static_cast<std::int64_t>(ranks.count(bin));
  }
  std::vector<GroupSummary> result;
  for (auto& [key, group] : groups) {
    group.task = key.first;
    group.device = key.second;
    group.noise_cv = median(noise[key]);
    result.push_back(group);
  }
  return result;
}

std::vector<RunSummary> summarise_runs(const Store& store) {
  std::vector<RunSummary> runs;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::size_t> known;
  for (const Measurement& m : store.measurements) {
    const Provenance& p = m.provenance;
    const auto [it, added] =
        known.try_emplace({p.run_id, p.device, p.compiler + '\n' + p.compiler_flags, p.harness_version}, runs.size());
    if (added) runs.push_back({p, 0});
    ++runs[it->second].rows;
  }
  return runs;
}

std::int64_t count_kernels(const Store& store) {
  std::unordered_set<std::string_view> sources;
  std::unordered_set<std::string> kernels;
  for (const Measurement& m : store.measurements) {
    std::string key = std::to_string(reinterpret_cast<std::uintptr_t>(sources.insert(m.kernel.source).first->data()));
    for (const auto& [name, value] : m.kernel.parameters) key.append("\n").append(name).append(" ").append(value);
    kernels.insert(std::move(key));
  }
  return static_cast<std::int64_t>(kernels.size());
}

json by_name(const std::array<std::int64_t, kMeasurementStatuses>& counts) {
  json result = json::object();
  for (int i = 0; i < kMeasurementStatuses; ++i) result[name_of(static_cast<MeasurementStatus>(i))] = counts[i];
  return result;
}

json to_json(const RunSummary& run) {
  json fields = to_json(run.provenance);
  fields["rows"] = run.rows;
  return fields;
}

}  // namespace

std::vector<StaleRows> find_stale(const Store& store) {
  using Build = std::tuple<std::string, std::string, std::string>;
  std::map<GroupKey, Build> last;
  std::map<std::pair<GroupKey, Build>, std::int64_t> counts;
  for (const Measurement& m : store.measurements) {
    const Provenance& p = m.provenance;
    Build build{p.compiler, p.compiler_flags, p.harness_version};
    ++counts[{{m.task, p.device}, build}];
    last[{m.task, p.device}] = std::move(build);
  }
  std::vector<StaleRows> stale;
  for (const auto& [key, rows] : counts) {
    const auto& [group, build] = key;
    if (build == last[group]) continue;
    stale.push_back({group.first, group.second, std::get<0>(build), std::get<1>(build), std::get<2>(build), rows});
  }
  return stale;
}

StoreSummary summarise(const Store& store) {
  StoreSummary summary;
  summary.content_hash = store.content_hash;
  summary.measurements = static_cast<std::int64_t>(store.measurements.size());
  summary.kernels = count_kernels(store);
  summary.ratios = static_cast<std::int64_t>(store.ratios.size());
  for (const RatioRow& row : store.ratios) ++summary.ratios_by_baseline[row.baseline];
  summary.groups = summarise_groups(store);
  summary.runs = summarise_runs(store);
  summary.stale = find_stale(store);
  return summary;
}

json to_json(const StoreSummary& summary) {
  json groups = json::array();
  for (const GroupSummary& g : summary.groups) {
    groups.push_back({{"task", g.task},
                      {"device", g.device},
                      {"by_status", by_name(g.by_status)},
                      {"pairs_by_bin", g.pairs_by_bin},
                      {"noise_cv", g.noise_cv}});
  }
  json runs = json::array();
  for (const RunSummary& run : summary.runs) runs.push_back(to_json(run));
  json stale = json::array();
  for (const StaleRows& s : summary.stale) {
    stale.push_back({{"task", s.task},
                     {"device", s.device},
                     {"compiler", s.compiler},
                     {"compiler_flags", s.compiler_flags},
                     {"harness_version", s.harness_version},
                     {"rows", s.rows}});
  }
  return {{"content_hash", summary.content_hash},
          {"measurements", summary.measurements},
          {"kernels", summary.kernels},
          {"ratios", summary.ratios},
          {"ratios_by_baseline", summary.ratios_by_baseline},
          {"groups", groups},
          {"runs", runs},
          {"stale", stale}};
}

}  // namespace kc
