#pragma once
// Intervals and tests over rows and over tasks (docs/evaluation.md, "Intervals").
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/rng.h"

namespace kc {

using Interval = std::pair<double, double>;

double mean(std::span<const double> values);             // precondition: not empty
double quantile(std::vector<double>& values, double q);  // sorts; linear between order statistics; not empty
Interval central_95(std::vector<double> values);         // quantiles 2.5 % and 97.5 %
std::optional<Interval> t_interval(std::span<const double> values);  // 95 %, of the mean; none below 3 values

// Fills row weights with the multiplicities of one resample.
using Resample = std::function<void(RngStream& rng, std::span<double> weights)>;
Resample resample_rows(std::size_t rows);
// Whole tasks are drawn, as many as there are; a row weighs what its task does.
Resample resample_tasks(std::vector<std::size_t> task_of_row, std::size_t tasks);

// From this many tasks on, intervals by task are bootstraps; below, t-intervals of task means.
inline constexpr std::size_t kTaskBootstrapFrom = 20;

// Two-sided sign-flip test of "the mean is 0": the share of sign assignments whose mean is at least as far from 0.
// Exact up to 20 values, else 100,000 random assignments (the observed one counted). 1 for no values.
double sign_flip_p(std::span<const double> values, RngStream rng);

}  // namespace kc
