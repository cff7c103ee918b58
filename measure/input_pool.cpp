#include "measure/input_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/interrupt.h"
#include "measure/generators.h"
#include "measure/precision.h"
#include "measure/turns.h"

namespace kc {
namespace {

constexpr std::size_t kTurnBytes = std::size_t{512} << 10;  // inputs and outputs of a turn: half of a usual L2 cache

bool has_hard_inputs(const TaskPack& pack) {
  return std::ranges::any_of(pack.inputs, [](const TensorSpec& input) { return !input.check_generator.empty(); });
}

template <class T>
void round_all(std::span<std::byte> bytes, int mantissa_bits) {
  auto* values = reinterpret_cast<T*>(bytes.data());
  for (std::size_t i = 0; i < bytes.size() / sizeof(T); ++i) {
    const T rounded = static_cast<T>(rounded_to(static_cast<double>(values[i]), mantissa_bits));
    if (std::isfinite(rounded)) values[i] = rounded;  // the largest of a type may be rounded to infinity
  }
}

}  // namespace

InputPool::InputPool(const TaskPack& pack, const CaseSpec& input_case, Runner& reference, RngStream rng,
                     std::size_t check_sets)
    : pack_(pack),
      case_(input_case),
      reference_(reference),
      rng_(rng),
      check_sets_(check_sets),
      input_layout_(layout_of(pack.inputs, input_case)),
      check_{&pack, layout_of(pack.outputs, input_case), layout_of(reference_outputs(pack), input_case)} {
  for (const std::string& name : pack.size_names) sizes_.push_back(input_case.sizes.at(name));
}

void InputPool::draw(InputSet& set, std::size_t input, const TensorSpec& spec) {
  const BufferSpan& span = input_layout_.buffers[input];
  generate(spec, case_, rng_, std::span(set.inputs).subspan(span.offset, span.bytes));
}

void InputPool::compute_expected(InputSet& set) {
  const auto located = [&](const std::string& fault) {
    return Error(ErrorKind::bad_data, fmt::format("task {}, case {}: the reference {}", pack_.name, case_.name, fault));
  };
  const SetLayout& layout = check_.reference_layout;
  const std::span<std::byte> outputs = reference_.outputs().subspan(0, layout.bytes);
  const std::uint64_t poison = rng_.next_u64();
  std::int64_t nanoseconds = 0;
  auto failure = reference_.announce(turn_spec(*this, layout, 1));
  fill_pattern(outputs, poison);
  if (!failure) failure = reference_.hand_over_outputs();
  if (!failure) {
    std::memcpy(reference_.inputs().data(), set.inputs.data(), set.inputs.size());
    failure = reference_.launch(nanoseconds);
  }
  if (failure) throw located(failure->log);
  if (first_broken_guard(layout, outputs, poison) >= 0) throw located("writes outside its outputs");
  set.expected.bytes.assign(outputs.begin(), outputs.end());
  if (const auto fault = finish_expected(check_, set.expected)) {
    throw located(
        fmt::format("leaves {}{}{}", *fault,
                    pack_.tolerance.is_derived() ? " (with standard_errors it writes `real`, not double)" : "",
                    set.is_hard ? ", on inputs of the check generator" : ""));
  }
}

void InputPool::ensure(std::size_t count, const std::stop_token& stop) {
  while (sets_.size() < count) {
    throw_if_stopped(stop);
    auto set = std::make_unique<InputSet>();
    set->inputs.assign(input_layout_.bytes, std::byte{0xFF});  // guards read as NaN
    set->is_hard = has_hard_inputs(pack_) && sets_.size() + 1 == check_sets_;
    for (std::size_t i = 0; i < pack_.inputs.size(); ++i) {
      draw(*set, i, set->is_hard ? hard_input(pack_.inputs[i]) : pack_.inputs[i]);
    }
    compute_expected(*set);
    sets_.push_back(std::move(set));
  }
}

InputSet InputPool::variation(std::size_t index, std::size_t changed) {
  InputSet set{sets_[index]->inputs, {}, false};
  draw(set, changed, pack_.inputs[changed]);
  compute_expected(set);
  return set;
}

InputSet InputPool::rounded(std::size_t index, int mantissa_bits) {
  InputSet set{sets_[index]->inputs, {}, sets_[index]->is_hard};
  for (std::size_t i = 0; i < pack_.inputs.size(); ++i) {
    const BufferSpan& span = input_layout_.buffers[i];
    const auto bytes = std::span(set.inputs).subspan(span.offset, span.bytes);
    if (pack_.inputs[i].dtype == DataType::f32) round_all<float>(bytes, mantissa_bits);
    if (pack_.inputs[i].dtype == DataType::f64) round_all<double>(bytes, mantissa_bits);
  }
  compute_expected(set);
  return set;
}

std::size_t check_set_count(const TaskPack& pack, std::int64_t correctness_seeds) {
  return static_cast<std::size_t>(std::max<std::int64_t>(correctness_seeds, has_hard_inputs(pack) ? 2 : 1));
}

ArenaSizes arena_sizes(const TaskPack& pack, const std::vector<TensorSpec>& outputs) {
  ArenaSizes sizes;
  for (const CaseSpec& input_case : pack.cases) {
    const std::size_t in = layout_of(pack.inputs, input_case).bytes;
    const std::size_t out = layout_of(outputs, input_case).bytes;
    const std::size_t sets = std::clamp<std::size_t>(kTurnBytes / (in + out), 1, kRunnerMaxLaunches);
    sizes.inputs = std::max(sizes.inputs, sets * in);
    sizes.outputs = std::max(sizes.outputs, sets * out);
  }
  return sizes;
}

std::size_t launches_that_fit(const InputPool& pool, const Runner& runner) {
  const std::size_t in = runner.inputs().size() / pool.input_layout().bytes;
  const std::size_t out = runner.outputs().size() / pool.check().layout.bytes;
  return std::clamp<std::size_t>(std::min(in, out), 1, kRunnerMaxLaunches);
}

}  // namespace kc
