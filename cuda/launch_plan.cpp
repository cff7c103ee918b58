// Launch shapes: the directives' expressions for one case, checked against the device's limits.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "cuda/contract.h"

namespace kc {
namespace {

constexpr std::int64_t kLargestExtent = std::numeric_limits<unsigned>::max();
constexpr std::array<std::int64_t, 3> kLargestCluster = {16, 16, 16};

struct Fault {
  Refusal refusal;
};

std::optional<std::string> extent_fault(const char* what, const std::array<unsigned, 3>& extents,
                                        const std::array<std::int64_t, 3>& most) {
  for (std::size_t d = 0; d < 3; ++d) {
    if (extents[d] >= 1 && extents[d] <= most[d]) continue;
    return fmt::format("{}: {} in dimension {}; at most {}", what, extents[d], "xyz"[d], most[d]);
  }
  return std::nullopt;
}

class Planner {
 public:
  Planner(const CudaContract& contract, const TaskPack& pack, const DeviceLimits& limits, Variables variables)
      : contract_(contract), pack_(pack), limits_(limits), variables_(std::move(variables)) {}

  RunPlan plan() {
    RunPlan plan;
    std::size_t total = 0;
    for (const ScratchDirective& scratch : contract_.scratch) {
      line_ = scratch.line;
      const auto bytes =
          static_cast<std::size_t>(number("scratch " + scratch.name, scratch.elements, 1)) * size_of(scratch.dtype);
      total += std::min(bytes, kMaxScratchBytes + 1);
      if (total > kMaxScratchBytes) fail(fmt::format("more than {} MB of scratch", kMaxScratchBytes >> 20));
      plan.scratch_bytes.push_back(bytes);
    }
    for (const StepDirective& step : contract_.steps) {
      line_ = step.line;
      if (!step.launch) {
        plan.steps.push_back({std::nullopt, buffer_of(step.zero)});
      } else if (value("when", step.launch->when) != 0) {
        plan.steps.push_back({shape_of(*step.launch), 0});
      }
    }
    const bool launches =
        std::any_of(plan.steps.begin(), plan.steps.end(), [](const Step& step) { return step.launch.has_value(); });
    if (!launches && contract_.host_source.empty()) fail("no launch whose when(...) holds");
    return plan;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const { throw Fault{{line_, message}}; }

  double value(const std::string& what, const std::string& expression) const {
    try {
      return evaluate(expression, variables_);
    } catch (const Error& e) {
      fail(fmt::format("{}: {}", what, e.what()));
    }
  }

  std::int64_t number(const std::string& what, const std::string& expression, std::int64_t least) const {
    try {
      return evaluate_integer(expression, variables_, least);
    } catch (const Error& e) {
      fail(fmt::format("{}: {}", what, e.what()));
    }
  }

  std::size_t buffer_of(const std::string& name) const {
    for (std::size_t o = 0; o < pack_.outputs.size(); ++o) {
      if (pack_.outputs[o].name == name) return o;
    }
    for (std::size_t s = 0; s < contract_.scratch.size(); ++s) {
      if (contract_.scratch[s].name == name) return pack_.outputs.size() + s;
    }
    fail(fmt::format("zero: '{}' is neither an output nor scratch", name));
  }

  // What does not fit the type is beyond every device.
  unsigned extent(const char* what, const std::string& expression, std::int64_t least) const {
    return static_cast<unsigned>(std::min(number(what, expression, least), kLargestExtent));
  }

  LaunchShape shape_of(const LaunchDirective& directive) const {
    LaunchShape shape;
    shape.kernel = directive.kernel;
    for (std::size_t d = 0; d < 3; ++d) {
      shape.grid[d] = extent("grid", directive.grid[d], 1);
      shape.block[d] = extent("block", directive.block[d], 1);
      shape.cluster[d] = extent("cluster", directive.cluster[d], 1);
    }
    shape.shared_bytes = extent("shared", directive.shared, 0);
    if (const auto fault = shape_fault(shape, limits_)) fail(*fault);
    return shape;
  }

  const CudaContract& contract_;
  const TaskPack& pack_;
  const DeviceLimits& limits_;
  Variables variables_;
  int line_ = 0;
};

}  // namespace

std::optional<std::string> shape_fault(const LaunchShape& shape, const DeviceLimits& limits) {
  if (auto fault = extent_fault("grid", shape.grid, limits.grid)) return fault;
  if (auto fault = extent_fault("block", shape.block, limits.block)) return fault;
  if (auto fault = extent_fault("cluster", shape.cluster, kLargestCluster)) return fault;
  const auto threads = static_cast<std::uint64_t>(shape.block[0]) * shape.block[1] * shape.block[2];
  if (threads > static_cast<std::uint64_t>(limits.threads_per_block)) {
    return fmt::format("block: {} threads; at most {}", threads, limits.threads_per_block);
  }
  for (std::size_t d = 0; d < 3; ++d) {
    if (shape.grid[d] % shape.cluster[d] != 0) return "grid: not a multiple of the cluster";
  }
  if (shape.shared_bytes > limits.shared_bytes_per_block) {
    return fmt::format("shared: {} bytes; at most {}", shape.shared_bytes, limits.shared_bytes_per_block);
  }
  return std::nullopt;
}

Expected<RunPlan, Refusal> plan_run(const CudaContract& contract, const TaskPack& pack, const Parameters& parameters,
                                    const CaseSpec& input_case, const DeviceLimits& limits) {
  Variables variables = to_variables(input_case.sizes);
  for (const auto& [name, text] : parameters) {
    if (input_case.sizes.contains(name)) {
      return Unexpected(Refusal{0, fmt::format("the tunable {} has the name of a size", name)});
    }
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (end != text.c_str() && *end == '\0') variables[name] = number;
  }
  variables["MULTIPROCESSORS"] = limits.multiprocessors;
  try {
    return Planner(contract, pack, limits, std::move(variables)).plan();
  } catch (const Fault& fault) {
    return Unexpected(fault.refusal);
  }
}

}  // namespace kc
