#include "measure/speed_limit.h"

#include <fmt/format.h>

namespace kc {
namespace {

constexpr double kBytesPerNanosecond = 64 * 8;

double output_bytes(const TaskPack& pack, const CaseSpec& input_case) {
  double bytes = 0;
  for (const TensorSpec& output : pack.outputs) {
    bytes += static_cast<double>(elements_of(output, input_case)) * static_cast<double>(size_of(output.dtype));
  }
  return bytes;
}

}  // namespace

double least_nanoseconds(const TaskPack& pack, const CaseSpec& input_case) {
  return output_bytes(pack, input_case) / kBytesPerNanosecond / pack.threads;
}

std::optional<std::string> find_impossible_time(const TaskPack& pack, const CaseSpec& input_case, double nanoseconds) {
  const double least = least_nanoseconds(pack, input_case);
  if (nanoseconds >= least) return std::nullopt;
  return fmt::format(
      "case {}: {:.3g} ns a launch is impossible: writing the {:.0f} bytes of its outputs takes {:.3g} ns "
      "at least",
      input_case.name, nanoseconds, output_bytes(pack, input_case), least);
}

}  // namespace kc
