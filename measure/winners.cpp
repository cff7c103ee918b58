#include "measure/winners.h"

#include <algorithm>
#include <set>

#include "base/hash.h"
#include "forecast/measurement_interval.h"
#include "forecast/source_text.h"

namespace kc {

std::string near_clone_id(const KernelText& kernel) {
  std::string text = kernel.language;
  for (const std::string& line : code_lines(kernel.source, kernel.language)) text += "\n" + line;
  for (const auto& [name, value] : kernel.parameters) text += "\n#" + name + "=" + value;
  return sha256_hex(text);
}

std::vector<ConfirmedWinner> confirm_winners(Measurer& measurer, const std::vector<MeasureRequest>& requests,
                                             const std::vector<Measurement>& measurements, std::size_t count,
                                             std::stop_token stop) {
  std::vector<ConfirmedWinner> winners;
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    if (measurements[i].status != MeasurementStatus::ok) continue;
    winners.push_back({i, {}, log2_speedup_scalar(measurements[i]), false});
  }
  const auto by_first = [](const ConfirmedWinner& a, const ConfirmedWinner& b) { return a.first_log2 > b.first_log2; };
  std::stable_sort(winners.begin(), winners.end(), by_first);
  std::set<std::string> known;
  std::erase_if(winners, [&](const ConfirmedWinner& winner) {
    return !known.insert(near_clone_id(requests[winner.index].candidate.kernel)).second;
  });
  winners.resize(std::min(winners.size(), count));
  std::vector<MeasureRequest> again;
  for (const ConfirmedWinner& winner : winners) {
    again.push_back(requests[winner.index]);
    again.back().fresh = true;
  }
  std::vector<Measurement> labels = measurer.measure(again, {}, stop);
  for (std::size_t w = 0; w < winners.size(); ++w) {
    winners[w].label = std::move(labels[w]);
    const bool ok = winners[w].label.status == MeasurementStatus::ok;
    const Log2Interval first = log2_speedup_interval(measurements[winners[w].index]);
    winners[w].is_lucky = !ok || log2_speedup_scalar(winners[w].label) < first.low;
  }
  const auto log2_of = [](const ConfirmedWinner& winner) {
    return winner.label.status == MeasurementStatus::ok ? log2_speedup_scalar(winner.label) : -1e9;
  };
  std::stable_sort(winners.begin(), winners.end(),
                   [&](const ConfirmedWinner& a, const ConfirmedWinner& b) { return log2_of(a) > log2_of(b); });
  return winners;
}

}  // namespace kc
