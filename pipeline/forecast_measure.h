#pragma once
#include <filesystem>
#include <stop_token>

#include "pipeline/forecasting.h"

namespace kc {

// Measures reference and candidates on this machine under the contract of `tasks_root`/<job.task> and fills
// measured_speedup or measured_status: S(reference, candidate) = S(seed, candidate) / S(seed, reference). Error{usage}
// when the job names no task pack; Error{check_failed} when the reference itself is not correct.
void measure_candidates(const std::filesystem::path& tasks_root, const ForecastJob& job, ForecastReport& report,
                        std::stop_token stop);

}  // namespace kc
