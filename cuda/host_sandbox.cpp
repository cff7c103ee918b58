#include "cuda/host_sandbox.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "cuda/call_filter.h"

namespace kc {

std::string enter_host_code_sandbox(std::span<const LandlockPath> paths) {
  std::vector<std::string> missing;
  // Landlock's rules are of threads: those of the driver keep the first sandbox's.
  if (!restrict_with_landlock(paths)) missing.emplace_back("Landlock");
  if (!filter_calls_of_host_code()) missing.emplace_back("a system call filter");
  return fmt::format("{}", fmt::join(missing, " and "));
}

}  // namespace kc
