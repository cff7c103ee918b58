#include "measure/turns.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "measure/cold_copy.h"

namespace kc {
namespace {

constexpr std::size_t kLooks = 32;  // at single words, about a microsecond together

std::vector<std::size_t> offsets_of(const SetLayout& layout) {
  std::vector<std::size_t> offsets;
  for (const BufferSpan& span : layout.buffers) offsets.push_back(span.offset);
  return offsets;
}

std::optional<RunnerFailure> check_outputs(const InputPool& pool, const InputSet& set,
                                           std::span<const std::byte> outputs, std::uint64_t poison) {
  const std::string& name = pool.input_case().name;
  const OutputCheck& check = pool.check();
  if (first_broken_guard(check.layout, outputs, poison) >= 0) {
    return RunnerFailure{MeasurementStatus::runtime_error, fmt::format("case {}: wrote outside the outputs", name)};
  }
  if (const auto difference = first_difference(check, set.expected, outputs)) {
    return RunnerFailure{
        MeasurementStatus::incorrect,
        fmt::format("case {}: {}{}", name, *difference, set.is_hard ? " (inputs of the check generator)" : "")};
  }
  return std::nullopt;
}

Error cold_inputs(const InputPool& pool, std::size_t bytes) {
  const TaskPack& pack = *pool.check().pack;
  return Error(ErrorKind::environment,
               fmt::format("task {}, case {}: inputs of {} bytes could not be brought into the caches: they are too "
                           "large, or the machine was too busy; say `cache: cold` in {}, or end other programs",
                           pack.name, pool.input_case().name, bytes, (pack.folder / "task.yaml").string()));
}

// Looks within microseconds of a turn's end, in random order, whether all launches have left something everywhere: a
// candidate that announces the end and computes on would otherwise run ahead of the checks.
bool is_early(const SetLayout& layout, std::span<const std::byte> outputs, std::size_t launches, std::uint64_t poison,
              RngStream& rng) {
  std::uint64_t random = rng.next_u64();
  const std::size_t looks = std::max(kLooks, launches);
  const std::size_t first = random % launches;
  for (std::size_t i = 0; i < looks; ++i) {
    const std::size_t l = (first + launches - i % launches) % launches;
    random = random * 6364136223846793005U + 1442695040888963407U;
    const double position = static_cast<double>(random >> 11U) * 0x1.0p-53;
    const std::size_t buffer = (random >> 5U) % layout.buffers.size();
    const auto set = outputs.subspan(l * layout.bytes, layout.bytes);
    if (is_unwritten(layout, buffer, position, set, poison + (l << 32))) return true;
  }
  return false;
}

}  // namespace

TurnSpec turn_spec(const InputPool& pool, const SetLayout& outputs, std::size_t launches) {
  static thread_local std::vector<std::size_t> input_offsets, output_offsets;
  input_offsets = offsets_of(pool.input_layout());
  output_offsets = offsets_of(outputs);
  return {.sizes = pool.sizes(),
          .launches = launches,
          .input_offsets = input_offsets,
          .output_offsets = output_offsets,
          .input_set_bytes = pool.input_layout().bytes,
          .output_set_bytes = outputs.bytes,
          .warm_launches = 0,
          .kind = &pool};
}

Expected<double, RunnerFailure> take_turn(Runner& runner, const InputPool& pool, std::span<const std::size_t> sets,
                                          RngStream& rng, std::size_t warm_launches) {
  const SetLayout& layout = pool.check().layout;
  const auto outputs_of = [&](std::size_t l) { return runner.outputs().subspan(l * layout.bytes, layout.bytes); };
  const std::uint64_t poison = rng.next_u64();
  const auto named = [&](RunnerFailure failure) {
    failure.log = fmt::format("case {}: {}", pool.input_case().name, failure.log);
    return Unexpected(std::move(failure));
  };
  TurnSpec spec = turn_spec(pool, layout, sets.size());
  spec.warm_launches = warm_launches;
  if (auto failure = runner.announce(spec)) return named(std::move(*failure));
  for (std::size_t l = 0; l < sets.size(); ++l) fill_pattern(outputs_of(l), poison + (l << 32));
  if (auto failure = runner.hand_over_outputs()) return named(std::move(*failure));
  const std::size_t bytes = pool.input_layout().bytes;
  for (std::size_t l = 0; l < sets.size(); ++l) {
    copy_past_caches(runner.inputs().subspan(l * bytes, bytes), pool[sets[l]].inputs);
  }
  if (pool.is_warm() && !runner.warm_inputs(sets.size() * bytes)) throw cold_inputs(pool, sets.size() * bytes);
  std::int64_t nanoseconds = 0;
  if (auto failure = runner.launch(nanoseconds)) return named(std::move(*failure));
  if (is_early(layout, runner.outputs(), sets.size(), poison, rng)) {
    return named({MeasurementStatus::incorrect, "expected all outputs to be written when it said that it was done"});
  }
  for (std::size_t l = 0; l < sets.size(); ++l) {
    if (auto failure = check_outputs(pool, pool[sets[l]], outputs_of(l), poison + (l << 32))) {
      return Unexpected(std::move(*failure));
    }
  }
  return static_cast<double>(nanoseconds) / static_cast<double>(sets.size());
}

}  // namespace kc
