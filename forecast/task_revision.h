#pragma once
// Which state of its task a label belongs to: speedups against another seed, on other sizes or with other inputs are
// not labels of the same task, though it keeps its name.
#include <optional>

#include "forecast/measurement.h"

namespace kc {

// The fact that says it: a number below 2^52, by which equal states are equal.
inline constexpr const char* kTaskRevision = "task_revision";

// Nothing for labels that do not say: imported ones, and those of harnesses before the fact.
inline std::optional<double> task_revision(const Measurement& measurement) {
  const auto fact = measurement.facts.find(kTaskRevision);
  if (fact == measurement.facts.end()) return std::nullopt;
  return fact->second;
}

// Whether both say so, and differ.
inline bool of_other_revisions(const Measurement& a, const Measurement& b) {
  const auto of_a = task_revision(a), of_b = task_revision(b);
  return of_a && of_b && *of_a != *of_b;
}

}  // namespace kc
