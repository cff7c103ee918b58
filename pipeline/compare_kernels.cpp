#include "pipeline/compare_kernels.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/table.h"
#include "forecast/measurement_interval.h"
#include "measure/statistics.h"

namespace kc {
namespace {

// The geometric mean over the cases, as a speedup is: the ratio of two of them is one.
double median_us(const Measurement& measurement) {
  double sum = 0;
  for (const CaseTiming& timing : measurement.cases) {
    sum += std::log2(median_of({timing.candidate_ns.begin(), timing.candidate_ns.end()}) / 1e3);
  }
  return measurement.cases.empty() ? 0 : std::exp2(sum / static_cast<double>(measurement.cases.size()));
}

ComparedKernel compared(const Measurement& measurement) {
  ComparedKernel kernel{measurement.kernel_name, measurement.status, measurement.log, measurement.facts, 0};
  if (measurement.status == MeasurementStatus::ok) kernel.median_us = median_us(measurement);
  return kernel;
}

// The pack with kernel a in the place of its seed: b is then timed beside a.
TaskPack seeded_with(const TaskPack& pack, const Candidate& a) {
  TaskPack own = pack;
  own.seed = a.kernel;
  own.seed_name = a.name;
  return own;
}

// Both sides' neighbours are the same in rounds that alternate: what sets sessions apart does not blur who is faster.
Log2Estimate log2_here(const Log2Estimate& elsewhere, const Measurement& a, const Measurement& b, bool direct) {
  const auto of_a = halfwidth_within_session(a), of_b = halfwidth_within_session(b);
  if (!of_b || (!direct && !of_a)) return elsewhere;
  const double halfwidth = direct ? *of_b : std::hypot(*of_a, *of_b);
  return {elsewhere.value, elsewhere.value - halfwidth, elsewhere.value + halfwidth};
}

void judge(KernelComparison& comparison) {
  const Log2Estimate& ratio = comparison.log2_here;
  comparison.bin = bin_of(std::exp2(ratio.value));
  const bool excludes_equality = ratio.low > 0 || ratio.high < 0;
  comparison.real = excludes_equality && std::fabs(ratio.value) > comparison.noise_floor;
}

std::string fact_text(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "-" : fmt::format("{:g}", found->second);
}

nlohmann::json to_json(const ComparedKernel& kernel) {
  nlohmann::json json = {
      {"name", kernel.name}, {"status", std::string(name_of(kernel.status))}, {"facts", kernel.facts}};
  if (kernel.status == MeasurementStatus::ok) {
    json["median_us"] = kernel.median_us;
  } else {
    json["log"] = kernel.log;
  }
  return json;
}

}  // namespace

KernelComparison compare_kernels(const TaskPack& pack, const Candidate& a, const Candidate& b, Measurer& measurer,
                                 bool direct, const std::stop_token& stop) {
  const TaskPack own = direct ? seeded_with(pack, a) : pack;
  const MeasureRequest requests[] = {{&own, a, true}, {&own, b, true}};
  std::vector<Measurement> measured;
  try {
    measured = measurer.measure(requests, {}, stop);
  } catch (const Error& error) {
    // A kernel a that fails as a seed is an error there; beside the task's own seed it is a status.
    if (!direct || error.kind() != ErrorKind::bad_data) throw;
    return compare_kernels(pack, a, b, measurer, false, stop);
  }
  KernelComparison comparison;
  comparison.a = compared(measured[0]);
  comparison.b = compared(measured[1]);
  comparison.direct = direct;
  comparison.noise_floor = measured[1].provenance.noise_floor;
  comparison.ok = measured[0].status == MeasurementStatus::ok && measured[1].status == MeasurementStatus::ok;
  if (!comparison.ok) return comparison;
  const Log2Interval interval =
      direct ? log2_speedup_interval(measured[1]) : log2_ratio_interval(measured[1], measured[0]);
  const double value = log2_speedup_scalar(measured[1]) - (direct ? 0 : log2_speedup_scalar(measured[0]));
  comparison.log2_ratio = {value, interval.low, interval.high};
  comparison.log2_here = log2_here(comparison.log2_ratio, measured[0], measured[1], direct);
  comparison.within_session =
      halfwidth_within_session(measured[1]) && (direct || halfwidth_within_session(measured[0]));
  judge(comparison);
  return comparison;
}

std::string comparison_text(const KernelComparison& c) {
  Table table({"kernel", "file", "status", "us per launch", "registers", "spilled bytes"});
  for (const auto& [letter, kernel] : {std::pair("A", &c.a), std::pair("B", &c.b)}) {
    const bool timed = kernel->status == MeasurementStatus::ok;
    table.add_row({letter, kernel->name, std::string(name_of(kernel->status)),
                   timed ? fmt::format("{:.3f}", kernel->median_us) : "-", fact_text(kernel->facts, "registers"),
                   fact_text(kernel->facts, "spill_bytes")});
  }
  std::string text = table.render();
  for (const ComparedKernel* kernel : {&c.a, &c.b}) {
    if (kernel->status != MeasurementStatus::ok) text += fmt::format("\n{}:\n{}\n", kernel->name, kernel->log);
  }
  if (!c.ok) return text;
  text += fmt::format("\nspeedup of B over A: {}, bin {} {}\n", ratio_text(c.log2_here), c.bin, bin_name(c.bin));
  text += c.within_session
              ? fmt::format("in another session on this device: {}\n", ratio_text(c.log2_ratio))
              : "(from the spread of these rounds; how far sessions lie apart, these labels do not tell)\n";
  text += fmt::format("{} (noise floor of the run: {:.2f} %{})\n",
                      !c.real ? "no real difference" : (c.log2_ratio.value > 0 ? "B is faster" : "A is faster"),
                      100 * (std::exp2(c.noise_floor) - 1),
                      c.direct ? "; both in the same rounds" : "; each against the task's seed");
  return text;
}

nlohmann::json to_json(const KernelComparison& c) {
  nlohmann::json json = {{"a", to_json(c.a)}, {"b", to_json(c.b)}, {"ok", c.ok}};
  if (!c.ok) return json;
  put_ratio(json, "speedup_of_b_over_a", c.log2_ratio);
  json["low_in_this_session"] = std::exp2(c.log2_here.low);
  json["high_in_this_session"] = std::exp2(c.log2_here.high);
  json["difference_is_real"] = c.real;
  json["noise_floor_log2"] = c.noise_floor;
  json["same_rounds"] = c.direct;
  return json;
}

}  // namespace kc
