#include "cuda/gpu_side.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "cuda/output_digest.h"
#include "measure/statistics.h"

namespace kc {
namespace {

constexpr int kLateRepeats = 10;
constexpr std::size_t kEmptyTurns = 7;
constexpr double kLeastShare = 0.1;  // of a turn, that remains when the empty one is taken off

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
  const bool environment = head->verdict == TurnVerdict::environment || device_fault;
  if (environment && !holds_host_code_) {
    throw Error(ErrorKind::environment, fmt::format("the GPU failed: {}", (*reply)[1]));
  }
  if (environment || head->verdict == TurnVerdict::candidate) {
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

std::optional<RunnerFailure> GpuSide::send_host_code(const std::stop_token& stop) {
  if (!has_host_code() || holds_host_code_) return std::nullopt;
  const auto confined = call({"confine"}, stop);
  if (!confined) return confined.error();
  holds_host_code_ = true;
  const auto loaded = call({"host", to_field(candidate_.limits), candidate_.host_library}, stop);
  return loaded ? std::nullopt : std::optional(loaded.error());
}

std::optional<RunnerFailure> GpuSide::prepare(std::size_t index, const std::stop_token& stop) {
  if (prepared_ == index) return std::nullopt;
  if (auto failure = send_host_code(stop)) return failure;
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

Expected<Fields, RunnerFailure> GpuSide::call_for(const InputPool& pool, const Fields& request,
                                                  const std::stop_token& stop) {
  auto reply = call(request, stop);
  if (reply) return reply;
  RunnerFailure failure = reply.error();
  failure.log = fmt::format("case {}: {}", pool.input_case().name, failure.log);
  return Unexpected(std::move(failure));
}

// The turn's own field is empty: it differs between attempts.
Fields GpuSide::armed_request(const char* kind, const InputPool& pool, std::span<const std::size_t> sets) const {
  Fields request = {kind, ""};
  for (const std::size_t s : sets) request.push_back(packed_inputs(pool, pool[s], input_layout_));
  return request;
}

std::optional<RunnerFailure> GpuSide::check_all(const InputPool& pool, std::span<const std::size_t> sets,
                                                const Fields& reply, std::uint64_t poison) {
  if (reply.size() != 2 + sets.size()) {
    return RunnerFailure{MeasurementStatus::runtime_error, "the runner's reply is damaged"};
  }
  for (std::size_t l = 0; l < sets.size(); ++l) {
    if (auto failure = check(pool, pool[sets[l]], reply[2 + l], poison + (l << 32))) return failure;
  }
  return std::nullopt;
}

Expected<GpuSample, RunnerFailure> GpuSide::turn(const InputPool& pool, std::span<const std::size_t> sets,
                                                 RngStream& rng, const std::stop_token& stop) {
  Fields request = armed_request("turn", pool, sets);
  for (int attempt = 0; attempt < kLateRepeats; ++attempt) {
    const TurnMessage turn{rng.next_u64(), static_cast<std::uint32_t>(sets.size())};
    request[1] = to_field(turn);
    const std::int64_t start = link_->now_ns();
    const auto reply = call_for(pool, request, stop);
    const auto whole = static_cast<double>(link_->now_ns() - start);
    if (!reply) return Unexpected(reply.error());
    if (auto failure = check_all(pool, sets, *reply, turn.poison)) return Unexpected(std::move(*failure));
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

Expected<GpuSide::Span, RunnerFailure> GpuSide::timed_go(const InputPool& pool, const Fields& armed,
                                                         const GoMessage& go, const std::stop_token& stop) {
  if (const auto ready = call_for(pool, armed, stop); !ready) return Unexpected(ready.error());
  const Fields request = {"go", to_field(go)};
  const std::int64_t start = link_->now_ns();
  const auto reply = call_for(pool, request, stop);
  const auto nanoseconds = static_cast<double>(link_->now_ns() - start);
  if (!reply) return Unexpected(reply.error());
  return Span{nanoseconds, from_field<ReplyMessage>((*reply)[0])->digest};
}

Expected<GpuSample, RunnerFailure> GpuSide::turn_by_harness(const InputPool& pool, std::span<const std::size_t> sets,
                                                            double empty_ns, RngStream& rng,
                                                            const std::stop_token& stop) {
  const auto launches = static_cast<std::uint32_t>(sets.size());
  const TurnMessage turn{rng.next_u64(), launches};
  const GoMessage go{rng.next_u64(), launches};
  const std::int64_t start = link_->now_ns();
  Fields armed = armed_request("arm", pool, sets);
  armed[1] = to_field(turn);
  const auto span = timed_go(pool, armed, go, stop);
  if (!span) return Unexpected(span.error());
  const auto reply = call_for(pool, {"collect"}, stop);
  const auto whole = static_cast<double>(link_->now_ns() - start);
  if (!reply) return Unexpected(reply.error());
  if (auto failure = check_all(pool, sets, *reply, turn.poison)) return Unexpected(std::move(*failure));
  std::uint64_t digest = 0;
  for (std::size_t l = 0; l < sets.size(); ++l) {
    const std::string& output = (*reply)[2 + l];
    digest += output_digest(std::as_bytes(std::span(output.data(), output.size())), l, go.key);
  }
  if (digest != span->digest) {
    return Unexpected(
        RunnerFailure{MeasurementStatus::runtime_error,
                      fmt::format("case {}: answered before the outputs were there", pool.input_case().name)});
  }
  const double launches_ns = std::max(span->ns - empty_ns, kLeastShare * span->ns);
  return GpuSample{launches_ns / launches, 0, whole - launches_ns, false};
}

Expected<double, RunnerFailure> GpuSide::empty_turn_ns(const InputPool& pool, std::span<const std::size_t> sets,
                                                       RngStream& rng, const std::stop_token& stop) {
  Fields armed = armed_request("arm", pool, sets);
  std::vector<double> times_ns;
  for (std::size_t i = 0; i < kEmptyTurns; ++i) {
    armed[1] = to_field(TurnMessage{rng.next_u64(), static_cast<std::uint32_t>(sets.size())});
    const auto span = timed_go(pool, armed, {rng.next_u64(), 0}, stop);
    if (!span) return Unexpected(span.error());
    times_ns.push_back(span->ns);
  }
  return median_of(times_ns);
}

}  // namespace kc
