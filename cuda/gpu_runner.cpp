#include "cuda/gpu_runner.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "cuda/output_digest.h"

namespace kc {
namespace {

constexpr std::uint64_t kLongestDelayNs = 20000000;
constexpr std::uint64_t kAfterNs = 20000;  // of the clock's second reading
constexpr std::size_t kSamples = 8;

std::vector<std::size_t> sizes_of(const PlanMessage& plan, std::size_t first, std::size_t count) {
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < count; ++i) sizes.push_back(plan.bytes[first + i]);
  return sizes;
}

std::span<std::byte> bytes_of(std::string& text) { return std::as_writable_bytes(std::span(text.data(), text.size())); }

}  // namespace

GpuRunner::GpuRunner(Driver& driver, std::size_t l2_bytes, Confine confine)
    : driver_(driver), l2_bytes_(l2_bytes), confine_(std::move(confine)) {}

GpuRunner::~GpuRunner() {
  if (module_ != 0) driver_.unload(module_);
  if (instruments_ != 0) driver_.unload(instruments_);
  for (const DevicePointer memory : {inputs_, outputs_, scratch_, flush_, samples_}) {
    if (memory != 0) driver_.free(memory);
  }
}

void GpuRunner::check(DriverStatus status, TurnVerdict verdict) {
  if (status != 0) throw Fault{verdict, status};
}

Fields GpuRunner::answer(const Fields& request) {
  ReplyMessage reply;
  std::string text;
  try {
    return serve(request);
  } catch (const Fault& fault) {
    reply.verdict = fault.verdict;
    reply.status = fault.status;
    text = fault.text.empty() ? driver_.text_of(fault.status) : fault.text;
  }
  return {to_field(reply), text};
}

Fields GpuRunner::serve(const Fields& request) {
  const std::string kind = request.empty() ? "" : request[0];
  ReplyMessage reply;
  if (kind == "turn") return turn(request);
  if (kind == "collect") return collect();
  if (kind == "go") {
    reply = go(request);
  } else if (kind == "arm") {
    arm(request);
  } else if (kind == "confine") {
    confine();
  } else if (kind == "host") {
    load_host(request);
  } else {
    prepare(request);
  }
  return {to_field(reply), ""};
}

void GpuRunner::prepare(const Fields& request) {
  const auto plan = request.size() >= 4 ? from_field<PlanMessage>(request[1]) : std::nullopt;
  if (!plan || plan->inputs + plan->outputs + plan->scratch > kMaxBuffers || plan->size_count > kMaxCaseSizes) {
    throw Fault{TurnVerdict::environment, 1};
  }
  armed_.reset();
  plan_ = *plan;
  cubin_ = request[2];
  steps_.clear();
  for (std::size_t i = 4; i < request.size(); ++i) {
    const auto step = from_field<StepMessage>(request[i]);
    if (!step) throw Fault{TurnVerdict::environment, 1};
    steps_.push_back(*step);
  }
  input_layout_ = gpu_layout(sizes_of(plan_, 0, plan_.inputs));
  output_layout_ = gpu_layout(sizes_of(plan_, plan_.inputs, plan_.outputs));
  scratch_layout_ = gpu_layout(sizes_of(plan_, plan_.inputs + plan_.outputs, plan_.scratch));
  if (instruments_ == 0) {
    check(driver_.load(request[3], instruments_));
    check(driver_.function(instruments_, kDelayKernel, 0, delay_));
    check(driver_.function(instruments_, kDigestKernel, 0, digest_));
  }
  reserve(flush_, flush_bytes_, 2 * l2_bytes_);
  reserve(samples_, sample_bytes_, kSamples * sizeof(std::uint64_t));
  load_candidate();
}

void GpuRunner::load_candidate() {
  if (module_ != 0) check(driver_.unload(module_));
  module_ = 0;
  functions_.clear();
  if (cubin_.empty()) {  // a library routine
    functions_.resize(steps_.size());
    return;
  }
  check(driver_.load(cubin_, module_), TurnVerdict::candidate);
  if (host_) host_->use_module(module_);
  for (const StepMessage& step : steps_) {
    functions_.push_back(0);
    if (step.kernel[0] == '\0') continue;
    check(driver_.function(module_, step.kernel, step.shared_bytes, functions_.back()), TurnVerdict::candidate);
  }
}

void GpuRunner::reserve(DevicePointer& memory, std::size_t& have, std::size_t wanted) {
  if (wanted <= have) return;
  if (memory != 0) check(driver_.free(memory));
  memory = 0;
  have = 0;
  check(driver_.allocate(wanted, memory));
  have = wanted;
}

void GpuRunner::fill_buffers(const TurnMessage& turn, const Fields& request) {
  std::string pattern(std::max(output_layout_.bytes, scratch_layout_.bytes), '\0');
  for (std::size_t l = 0; l < turn.launches; ++l) {
    check(driver_.upload(inputs_ + l * input_layout_.bytes, request[2 + l].data(), input_layout_.bytes));
    fill_pattern(bytes_of(pattern), turn.poison + (l << 32));
    check(driver_.upload(outputs_ + l * output_layout_.bytes, pattern.data(), output_layout_.bytes));
    check(driver_.upload(scratch_ + l * scratch_layout_.bytes, pattern.data(), scratch_layout_.bytes));
  }
}

// Writes twice the second-level cache, and drops what a candidate may have made persistent in it.
void GpuRunner::flush() {
  check(driver_.drop_persisting_lines());
  if (plan_.cold != 0) check(driver_.fill(flush_, 0xA5, flush_bytes_));
  check(driver_.synchronize());
}

DevicePointer GpuRunner::address_of(std::size_t buffer, std::size_t launch) const {
  if (buffer < plan_.inputs) return inputs_ + launch * input_layout_.bytes + input_layout_.buffers[buffer].offset;
  buffer -= plan_.inputs;
  if (buffer < plan_.outputs) return outputs_ + launch * output_layout_.bytes + output_layout_.buffers[buffer].offset;
  return scratch_ + launch * scratch_layout_.bytes + scratch_layout_.buffers[buffer - plan_.outputs].offset;
}

void GpuRunner::run_steps(std::size_t launch) {
  if (host_) return run_host(launch);
  const std::size_t count = plan_.inputs + plan_.outputs + plan_.scratch;
  std::array<DevicePointer, kMaxBuffers> pointers = {};
  std::array<void*, kMaxBuffers + 1> parameters = {};
  parameters[0] = plan_.sizes;
  for (std::size_t b = 0; b < count; ++b) {
    pointers[b] = address_of(b, launch);
    parameters[b + 1] = &pointers[b];
  }
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    const StepMessage& step = steps_[s];
    if (step.is_library != 0) {
      const LibraryCall& call = step.library;
      if (std::max({call.a, call.b, call.c}) >= count) throw Fault{TurnVerdict::environment, 1};
      check(driver_.sgemm(call, pointers[call.a], pointers[call.b], pointers[call.c]));
      continue;
    }
    if (step.kernel[0] == '\0') {
      const std::size_t buffer = plan_.inputs + step.zero;
      check(driver_.fill(pointers[buffer], 0, plan_.bytes[buffer]));
      continue;
    }
    LaunchShape shape;
    std::copy(std::begin(step.grid), std::end(step.grid), shape.grid.begin());
    std::copy(std::begin(step.block), std::end(step.block), shape.block.begin());
    std::copy(std::begin(step.cluster), std::end(step.cluster), shape.cluster.begin());
    shape.shared_bytes = step.shared_bytes;
    check(driver_.launch(functions_[s], shape, parameters.data()), TurnVerdict::candidate);
  }
}

double GpuRunner::clock_mhz(const std::uint64_t* samples) const {
  const auto nanoseconds = static_cast<double>(samples[1] - samples[0]);
  return nanoseconds > 0 ? static_cast<double>(samples[3] - samples[2]) / nanoseconds * 1000 : 0;
}

// The delay runs while everything behind it is queued, so that the span between the events is the device's work alone.
ReplyMessage GpuRunner::time(const TurnMessage& turn) {
  DevicePointer before = samples_;
  DevicePointer after = samples_ + 4 * sizeof(std::uint64_t);
  std::uint64_t after_ns = kAfterNs;
  void* delay[] = {&delay_ns_, &before};
  void* clock[] = {&after_ns, &after};
  ReplyMessage reply;
  const std::int64_t begin = driver_.now_ns();
  check(driver_.launch(delay_, {}, delay));
  check(driver_.record_start());
  for (std::size_t l = 0; l < turn.launches; ++l) run_steps(l);
  check(driver_.record_stop());
  check(driver_.launch(delay_, {}, clock));
  const std::int64_t queued = driver_.now_ns();
  check(driver_.synchronize(), TurnVerdict::candidate);
  reply.wall_ns = driver_.now_ns() - begin;
  float milliseconds = 0;
  check(driver_.elapsed_ms(milliseconds));
  reply.span_ns = static_cast<double>(milliseconds) * 1e6;
  std::array<std::uint64_t, kSamples> samples = {};
  check(driver_.download(samples.data(), samples_, sizeof samples));
  reply.sm_mhz_before = clock_mhz(samples.data());
  reply.sm_mhz_after = clock_mhz(samples.data() + 4);
  // Also at the longest delay: what was queued too late held waiting times, however often it is tried.
  if (queued - begin > static_cast<std::int64_t>(delay_ns_ / 10 * 9)) {
    delay_ns_ = std::min(2 * delay_ns_, kLongestDelayNs);
    reply.verdict = TurnVerdict::late;
  }
  return reply;
}

void GpuRunner::verify(const TurnMessage& turn, const Fields& request, ReplyMessage& reply, Fields& outputs) {
  std::string inputs(input_layout_.bytes, '\0');
  std::string scratch(scratch_layout_.bytes, '\0');
  for (std::size_t l = 0; l < turn.launches; ++l) {
    std::string output(output_layout_.bytes, '\0');
    check(driver_.download(output.data(), outputs_ + l * output_layout_.bytes, output.size()));
    outputs.push_back(std::move(output));
    check(driver_.download(inputs.data(), inputs_ + l * input_layout_.bytes, inputs.size()));
    if (inputs != request[2 + l]) reply.verdict = TurnVerdict::inputs_changed;
    check(driver_.download(scratch.data(), scratch_ + l * scratch_layout_.bytes, scratch.size()));
    if (first_broken_guard(scratch_layout_, bytes_of(scratch), turn.poison + (l << 32)) >= 0) {
      reply.verdict = TurnVerdict::scratch_broken;
    }
  }
}

TurnMessage GpuRunner::read_turn(const Fields& request) const {
  const auto turn = request.size() >= 2 ? from_field<TurnMessage>(request[1]) : std::nullopt;
  if (!turn || turn->launches == 0 || turn->launches > kMaxTurnLaunches || request.size() != 2 + turn->launches ||
      std::any_of(request.begin() + 2, request.end(),
                  [&](const std::string& set) { return set.size() != input_layout_.bytes; })) {
    throw Fault{TurnVerdict::environment, 1};
  }
  return *turn;
}

// All that comes before the launches.
void GpuRunner::make_ready(const TurnMessage& turn, const Fields& request) {
  reserve(inputs_, input_bytes_, turn.launches * input_layout_.bytes);
  reserve(outputs_, output_bytes_, turn.launches * output_layout_.bytes);
  reserve(scratch_, scratch_bytes_, turn.launches * scratch_layout_.bytes);
  if (plan_.reload != 0) load_candidate();
  fill_buffers(turn, request);
  flush();
}

Fields GpuRunner::turn(const Fields& request) {
  const TurnMessage turn = read_turn(request);
  make_ready(turn, request);
  ReplyMessage reply = time(turn);
  Fields outputs;
  verify(turn, request, reply, outputs);
  Fields fields = {to_field(reply), ""};
  std::move(outputs.begin(), outputs.end(), std::back_inserter(fields));
  return fields;
}

}  // namespace kc
