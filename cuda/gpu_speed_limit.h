#pragma once
// Times that no GPU can have.
#include <optional>
#include <span>
#include <string>

#include "cuda/driver.h"
#include "forecast/measurement.h"
#include "measure/task_pack.h"

namespace kc {

// Nanoseconds that one run of a case takes at least: a launch, and writing the outputs. Figures that the driver does
// not tell (0) bound nothing.
double least_nanoseconds(const GpuDevice& device, const TaskPack& pack, const CaseSpec& input_case);

// Why a time per run is impossible, or nothing.
std::optional<std::string> find_impossible_time(const GpuDevice& device, const TaskPack& pack,
                                                const CaseSpec& input_case, double nanoseconds);

// The same of the medians of a label, whose cases are those of the pack.
std::optional<std::string> find_impossible_times(const GpuDevice& device, const TaskPack& pack,
                                                 std::span<const CaseTiming> cases);

}  // namespace kc
