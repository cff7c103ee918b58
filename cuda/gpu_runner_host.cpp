// Turns by the harness's clock, and the host code of candidates for which they are (docs/cuda.md, "Host code").
#include <array>

#include "cuda/gpu_runner.h"
#include "cuda/output_digest.h"

namespace kc {
namespace {

constexpr unsigned kDigestBlocks = 512;
constexpr unsigned kDigestThreads = 256;

}  // namespace

void GpuRunner::confine() const {
  const std::string missing = confine_ ? confine_() : "";
  if (!missing.empty()) {
    throw Fault{TurnVerdict::environment, 1, "host code of a candidate is not run without " + missing};
  }
}

void GpuRunner::load_host(const Fields& request) {
  const auto limits = request.size() == 3 ? from_field<DeviceLimits>(request[1]) : std::nullopt;
  if (!limits) throw Fault{TurnVerdict::environment, 1};
  host_ = std::make_unique<HostCode>(driver_, *limits);
  if (auto fault = host_->load(request[2])) throw Fault{TurnVerdict::candidate, 1, std::move(*fault)};
}

void GpuRunner::run_host(std::size_t launch) {
  HostArguments arguments;
  arguments.sizes = plan_.sizes;
  const auto pointer_to = [&](std::size_t buffer) {
    return reinterpret_cast<void*>(address_of(buffer, launch));  // NOLINT(performance-no-int-to-ptr)
  };
  const std::size_t outputs = plan_.inputs, scratch = outputs + plan_.outputs, end = scratch + plan_.scratch;
  for (std::size_t b = 0; b < end; ++b) {
    if (b < outputs) {
      arguments.inputs.push_back(pointer_to(b));
      continue;
    }
    (b < scratch ? arguments.outputs : arguments.scratch).push_back(pointer_to(b));
    arguments.writable.push_back({address_of(b, launch), plan_.bytes[b]});
  }
  if (auto failure = host_->run(arguments)) {
    throw Fault{TurnVerdict::candidate, failure->status, std::move(failure->text)};
  }
}

void GpuRunner::arm(Fields request) {
  armed_.reset();
  const TurnMessage turn = read_turn(request);
  make_ready(turn, request);
  armed_ = turn;
  armed_request_ = std::move(request);
}

ReplyMessage GpuRunner::go(const Fields& request) {
  const auto message = request.size() == 2 ? from_field<GoMessage>(request[1]) : std::nullopt;
  if (!message || !armed_ || message->launches > armed_->launches) throw Fault{TurnVerdict::environment, 1};
  GoMessage order = *message;
  std::uint64_t words = armed_->launches * output_layout_.bytes / sizeof(std::uint64_t);
  DevicePointer outputs = outputs_, sum = samples_;
  void* parameters[] = {&outputs, &words, &order.key, &sum};
  const LaunchShape shape{kDigestKernel, {kDigestBlocks, 1, 1}, {kDigestThreads, 1, 1}};
  check(driver_.fill(samples_, 0, sizeof(std::uint64_t)));
  for (std::size_t l = 0; l < order.launches; ++l) run_steps(l);
  check(driver_.launch(digest_, shape, parameters));
  check(driver_.synchronize(), TurnVerdict::candidate);
  ReplyMessage reply;
  check(driver_.download(&reply.digest, samples_, sizeof reply.digest));
  return reply;
}

Fields GpuRunner::collect() {
  if (!armed_) throw Fault{TurnVerdict::environment, 1};
  ReplyMessage reply;
  Fields outputs;
  verify(*armed_, armed_request_, reply, outputs);
  armed_.reset();
  Fields fields = {to_field(reply), ""};
  std::move(outputs.begin(), outputs.end(), std::back_inserter(fields));
  return fields;
}

}  // namespace kc
