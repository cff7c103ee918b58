#pragma once
// One candidate (or the seed) in its runner: turns on fresh inputs, every output checked by the harness.
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "base/expected.h"
#include "cuda/candidate.h"
#include "cuda/gpu_layout.h"
#include "cuda/gpu_link.h"
#include "cuda/gpu_messages.h"
#include "measure/input_pool.h"

namespace kc {

struct GpuSample {
  double ns = 0;  // per launch
  double sm_mhz = 0;
  double overhead_ns = 0;     // of the turn, beyond its launches; by the host's clock
  bool inputs_known = false;  // a span that was void came before, on the same inputs
};

class GpuSide {
 public:
  // `candidate` compiled, `pack` and `instruments` (the cubin of gpu_messages.h) must outlive this.
  GpuSide(const TaskPack& pack, const CompiledCandidate& candidate, const std::string& instruments,
          std::unique_ptr<GpuLink> link, double timeout_s);

  // Loads the module and sets the buffers for case `index`, where that is not the case already.
  std::optional<RunnerFailure> prepare(std::size_t index, const std::stop_token& stop);

  // Launches once on each of these sets. The failure of a run, or its time; spans that began too early are repeated on
  // the same request. Error{environment} when the device itself fails; Error{interrupted}.
  Expected<GpuSample, RunnerFailure> turn(const InputPool& pool, std::span<const std::size_t> sets, RngStream& rng,
                                          const std::stop_token& stop);

  // The same by the harness's clock alone: from its word to go until the runner tells a digest of all outputs, less
  // `empty_ns`, of which a tenth of the whole at least is left. What a candidate's host code can do to its own process
  // does not reach that clock (docs/cuda.md, "Host code"). `sm_mhz` is 0: nobody looked.
  Expected<GpuSample, RunnerFailure> turn_by_harness(const InputPool& pool, std::span<const std::size_t> sets,
                                                     double empty_ns, RngStream& rng, const std::stop_token& stop);
  // What such a turn takes here without its launches, on as many sets: the median of several.
  Expected<double, RunnerFailure> empty_turn_ns(const InputPool& pool, std::span<const std::size_t> sets,
                                                RngStream& rng, const std::stop_token& stop);

  bool has_host_code() const { return candidate_.has_host_code(); }
  // Whether launches of one turn could pass results to each other through initialised variables.
  bool needs_single_launches() const { return candidate_.binary.facts.initialised_bytes > 0; }
  std::size_t set_bytes(std::size_t index) const;  // of case `index`, on the device
  std::size_t steps(std::size_t index) const { return candidate_.plans[index].steps.size(); }  // of one run
  unsigned pid() const { return link_->pid(); }
  // Of the last launch of the last turn, as OutputCheck::layout has them; what lies between them is zero.
  std::span<const std::byte> outputs() const { return outputs_; }

 private:
  Expected<Fields, RunnerFailure> call(const Fields& request, const std::stop_token& stop);
  struct Span {
    double ns = 0;
    std::uint64_t digest = 0;
  };
  // Failures are those of the case.
  Expected<Fields, RunnerFailure> call_for(const InputPool& pool, const Fields& request, const std::stop_token& stop);
  std::optional<RunnerFailure> send_host_code(const std::stop_token& stop);
  Expected<Span, RunnerFailure> timed_go(const InputPool& pool, const Fields& armed, const GoMessage& go,
                                         const std::stop_token& stop);
  Fields armed_request(const char* kind, const InputPool& pool, std::span<const std::size_t> sets) const;
  std::optional<RunnerFailure> check_all(const InputPool& pool, std::span<const std::size_t> sets, const Fields& reply,
                                         std::uint64_t poison);
  std::optional<RunnerFailure> check(const InputPool& pool, const InputSet& set, const std::string& output,
                                     std::uint64_t poison);

  const TaskPack& pack_;
  const CompiledCandidate& candidate_;
  const std::string& instruments_;
  std::unique_ptr<GpuLink> link_;
  double timeout_s_;
  SetLayout input_layout_, output_layout_, scratch_layout_;
  std::optional<std::size_t> prepared_;  // case
  std::vector<std::byte> outputs_;
  bool holds_host_code_ = false;  // of the candidate: what the process says proves nothing from here on
};

}  // namespace kc
