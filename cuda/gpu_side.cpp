#include "cuda/gpu_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"

namespace kc {
namespace {

constexpr int kLateRepeats = 10;

// CUresult values that say something about the machine, whatever ran: no memory, no device, ECC, fabric, unknown.
constexpr std::array kDeviceFaults = {2, 3, 4, 46, 100, 101, 201, 214, 220, 802, 803, 999};

PlanMessage plan_message(const TaskPack& pack, const CompiledCandidate& candidate, std::size_t index) {
  const CaseSpec& spec = pack.cases[index];
  PlanMessage plan;
  plan.size_count = static_cast<std::uint32_t>(pack.size_names.size());
  for (std::size_t i = 0; i < pack.size_names.size(); ++i) plan.sizes[i] = spec.sizes.at(pack.size_names[i]);
  std::vector<std::size_t> bytes = buffer_bytes(pack.inputs, spec);
  const std::vector<std::size_t> outputs = buffer_bytes(pack.outputs, spec);
  const std::vector<std::size_t>& scratch = candidate.plans[index].scratch_bytes;
  bytes.insert(bytes.end(), outputs.begin(), outputs.end());
  bytes.insert(bytes.end(), scratch.begin(), scratch.end());
  if (bytes.size() > kMaxBuffers) throw Error(ErrorKind::bad_data, fmt::format("{}: too many buffers", pack.name));
  plan.inputs = static_cast<std::uint32_t>(pack.inputs.size());
  plan.outputs = static_cast<std::uint32_t>(outputs.size());
  plan.scratch = static_cast<std::uint32_t>(scratch.size());
  std::copy(bytes.begin(), bytes.end(), plan.bytes);
  plan.reload = candidate.binary.facts.initialised_bytes > 0 ? 1 : 0;
  plan.cold = !pack.cuda || pack.cuda->cold_cache ? 1 : 0;
  return plan;
}

std::string packed_inputs(const InputPool& pool, const InputSet& set, const SetLayout& layout) {
  std::string bytes(layout.bytes, '\xFF');  // guards read as NaN
  copy_buffers(pool.input_layout(), set.inputs, layout, std::as_writable_bytes(std::span(bytes.data(), bytes.size())));
  return bytes;
}

}  // namespace

GpuSide::GpuSide(const TaskPack& pack, const CompiledCandidate& candidate, const std::string& instruments,
                 std::unique_ptr<GpuLink> link, double timeout_s)
    : pack_(pack), candidate_(candidate), instruments_(instruments), link_(std::move(link)), timeout_s_(timeout_s) {}

Expected<Fields, RunnerFailure> GpuSide::call(const Fields& request, const std::stop_token& stop) {
  auto reply = link_->call(request, timeout_s_, stop);
  if (!reply) {
    if (link_->timed_out()) {
      return Unexpected(RunnerFailure{MeasurementStatus::timeout, fmt::format("no end after {} s", timeout_s_)});
    }
    return Unexpected(
        RunnerFailure{MeasurementStatus::runtime_error, "the runner ended with " + link_->why_it_ended()});
  }
  const auto head = reply->size() >= 2 ? from_field<ReplyMessage>((*reply)[0]) : std::nullopt;
  if (!head) return Unexpected(RunnerFailure{MeasurementStatus::runtime_error, "the runner's reply is damaged"});
  const bool device_fault = std::find(kDeviceFaults.begin(), kDeviceFaults.end(), head->status) != kDeviceFaults.end();
  if (head->verdict == TurnVerdict::environment || device_fault) {
    throw Error(ErrorKind::environment, fmt::format("the GPU failed: {}", (*reply)[1]));
  }
  if (head->verdict == TurnVerdict::candidate) {
    return Unexpected(RunnerFailure{MeasurementStatus::runtime_error, (*reply)[1]});
  }
  if (head->verdict == TurnVerdict::inputs_changed || head->verdict == TurnVerdict::scratch_broken) {
    const char* what = head->verdict == TurnVerdict::inputs_changed ? "wrote to an input" : "wrote outside its scratch";
    return Unexpected(RunnerFailure{MeasurementStatus::runtime_error, what});
  }
  return std::move(*reply);
}

std::size_t GpuSide::set_bytes(std::size_t index) const {
  const CaseSpec& spec = pack_.cases[index];
  return gpu_layout(buffer_bytes(pack_.inputs, spec)).bytes + gpu_layout(buffer_bytes(pack_.outputs, spec)).bytes +
         gpu_layout(candidate_.plans[index].scratch_bytes).bytes;
}

std::optional<RunnerFailure> GpuSide::prepare(std::size_t index, const std::stop_token& stop) {
  if (prepared_ == index) return std::nullopt;
  const CaseSpec& spec = pack_.cases[index];
  input_layout_ = gpu_layout(buffer_bytes(pack_.inputs, spec));
  output_layout_ = gpu_layout(buffer_bytes(pack_.outputs, spec));
  scratch_layout_ = gpu_layout(candidate_.plans[index].scratch_bytes);
  const auto reply = call(prepare_message(plan_message(pack_, candidate_, index), candidate_.binary.cubin, instruments_,
                                          candidate_.plans[index].steps),
                          stop);
  if (!reply) return reply.error();
  prepared_ = index;
  return std::nullopt;
}

std::optional<RunnerFailure> GpuSide::check(const InputPool& pool, const InputSet& set, const std::string& output,
                                            std::uint64_t poison) {
  const auto bytes = std::as_bytes(std::span(output.data(), output.size()));
  if (bytes.size() != output_layout_.bytes) {
    return RunnerFailure{MeasurementStatus::runtime_error, "the runner's reply is damaged"};
  }
  const std::string& name = pool.input_case().name;
  if (first_broken_guard(output_layout_, bytes, poison) >= 0) {
    return RunnerFailure{MeasurementStatus::runtime_error, fmt::format("case {}: wrote outside the outputs", name)};
  }
  outputs_.assign(pool.check().layout.bytes, std::byte{});
  copy_buffers(output_layout_, bytes, pool.check().layout, outputs_);
  if (const auto difference = first_difference(pool.check(), set.expected, outputs_)) {
    return RunnerFailure{MeasurementStatus::incorrect, fmt::format("case {}: {}", name, *difference)};
  }
  return std::nullopt;
}

Expected<GpuSample, RunnerFailure> GpuSide::turn(const InputPool& pool, std::span<const std::size_t> sets,
                                                 RngStream& rng, const std::stop_token& stop) {
  Fields request = {"turn", ""};
  for (const std::size_t s : sets) request.push_back(packed_inputs(pool, pool[s], input_layout_));
  for (int attempt = 0; attempt < kLateRepeats; ++attempt) {
    const TurnMessage turn{rng.next_u64(), static_cast<std::uint32_t>(sets.size())};
    request[1] = to_field(turn);
    const std::int64_t start = link_->now_ns();
    auto reply = call(request, stop);
    const auto whole = static_cast<double>(link_->now_ns() - start);
    if (!reply) {
      RunnerFailure failure = reply.error();
      failure.log = fmt::format("case {}: {}", pool.input_case().name, failure.log);
      return Unexpected(std::move(failure));
    }
    if (reply->size() != 2 + sets.size()) {
      return Unexpected(RunnerFailure{MeasurementStatus::runtime_error, "the runner's reply is damaged"});
    }
    for (std::size_t l = 0; l < sets.size(); ++l) {
      if (auto failure = check(pool, pool[sets[l]], (*reply)[2 + l], turn.poison + (l << 32))) {
        return Unexpected(std::move(*failure));
      }
    }
    const auto head = *from_field<ReplyMessage>((*reply)[0]);
    if (head.verdict == TurnVerdict::late) continue;
    // Three clocks must agree: the span by events lies within the runner's wall time, that within ours.
    const double wall = static_cast<double>(head.wall_ns);
    if (!(head.span_ns > 0) || head.span_ns > wall || wall > whole) {
      throw Error(ErrorKind::environment,
                  fmt::format("clocks disagree: {:.0f} ns by events, {:.0f} ns in the runner, {:.0f} ns here",
                              head.span_ns, wall, whole));
    }
    return GpuSample{head.span_ns / static_cast<double>(sets.size()), (head.sm_mhz_before + head.sm_mhz_after) / 2,
                     whole - head.span_ns, attempt > 0};
  }
  throw Error(
      ErrorKind::environment,
      fmt::format("the host needs longer than 18 ms to queue the launches of a turn, {} times in a row: no span "
                  "of the GPU alone can be timed. Is this machine overloaded?",
                  kLateRepeats));
}

}  // namespace kc
