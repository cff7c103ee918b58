#include "cuda/gpu_speed_limit.h"

#include <fmt/format.h>

#include <algorithm>

#include "cuda/gpu_layout.h"
#include "measure/statistics.h"

namespace kc {
namespace {

constexpr double kLaunchNs = 100;         // one that follows another takes about 1,000
constexpr double kStoredBytes = 128;      // by a multiprocessor in a cycle: twice what the known ones can
constexpr double kTransfersPerCycle = 2;  // of the memory's clock, as drivers state it
constexpr double kMargin = 1.25;          // for clocks above those that the driver states

double output_bytes(const TaskPack& pack, const CaseSpec& input_case) {
  double bytes = 0;
  for (const std::size_t buffer : buffer_bytes(pack.outputs, input_case)) bytes += static_cast<double>(buffer);
  return bytes;
}

double nanoseconds_of(double bytes, double bytes_per_ns) { return bytes_per_ns > 0 ? bytes / bytes_per_ns : 0; }

}  // namespace

// Inputs are left out, since no task says that all of them must be read; so are operations, which no task counts. Of
// the outputs as many bytes as the second-level cache holds may still lie there at the end, whatever state it began in.
double least_nanoseconds(const GpuDevice& device, const TaskPack& pack, const CaseSpec& input_case) {
  const double bytes = output_bytes(pack, input_case);
  const double stores = device.multiprocessors * kStoredBytes * device.clock_khz / 1e6 * kMargin;
  const double memory = kTransfersPerCycle * device.memory_bus_bits / 8 * device.memory_clock_khz / 1e6 * kMargin;
  const double beyond_cache = device.l2_bytes > 0 ? std::max(bytes - static_cast<double>(device.l2_bytes), 0.0) : 0;
  return std::max({kLaunchNs, nanoseconds_of(bytes, stores), nanoseconds_of(beyond_cache, memory)});
}

std::optional<std::string> find_impossible_time(const GpuDevice& device, const TaskPack& pack,
                                                const CaseSpec& input_case, double nanoseconds) {
  const double least = least_nanoseconds(device, pack, input_case);
  if (nanoseconds >= least) return std::nullopt;
  return fmt::format(
      "case {}: {:.3g} ns a run is impossible: a launch that writes the {:.0f} bytes of its outputs takes {:.3g} ns at "
      "least",
      input_case.name, nanoseconds, output_bytes(pack, input_case), least);
}

std::optional<std::string> find_impossible_times(const GpuDevice& device, const TaskPack& pack,
                                                 std::span<const CaseTiming> cases) {
  for (std::size_t c = 0; c < cases.size(); ++c) {
    const std::vector<float>& times = cases[c].candidate_ns;
    const auto fault = find_impossible_time(device, pack, pack.cases[c], median_of({times.begin(), times.end()}));
    if (fault) return fault;
  }
  return std::nullopt;
}

}  // namespace kc
