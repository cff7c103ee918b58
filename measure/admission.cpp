#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "measure/host_device.h"
#include "measure/host_environment.h"
#include "measure/machine.h"
#include "measure/precision.h"
#include "measure/session.h"

namespace kc {
namespace {

constexpr std::size_t kLooked = 256;  // elements, each searched for among the inputs

class Admission {
 public:
  Admission(const TaskPack& pack, InputPool& pool) : pack_(pack), pool_(pool) {}

  void refuse_trivial_candidates() {
    const SetLayout& layout = pool_.check().layout;
    std::vector<std::byte> outputs(layout.bytes);
    refuse(outputs, "zeros");
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      fill_pattern(outputs, seed * 0x1234567);
      refuse(outputs, "outputs that it never wrote");
    }
    for (std::size_t i = 0; i < pack_.inputs.size(); ++i) {
      for (const BufferSpan& span : layout.buffers) copy_input(i, std::span(outputs).subspan(span.offset, span.bytes));
      refuse(outputs, fmt::format("a copy of input {}", pack_.inputs[i].name));
    }
  }

  // What an exact computation gives that keeps half the digits, or none but the mean.
  void refuse_coarse_candidates() {
    const OutputCheck& check = pool_.check();
    const bool floating = std::any_of(pack_.outputs.begin(), pack_.outputs.end(),
                                      [](const TensorSpec& output) { return is_floating(output.dtype); });
    if (!floating) return;
    const ExpectedOutputs& expected = pool_[0].expected;
    refuse(mean_outputs(check, expected), "the mean of each output");
    for (const LowPrecision& format : formats_below(pack_.outputs)) {
      const std::vector<std::byte> outputs = rounded_outputs(check, expected, format);
      if (share_of_tolerance(check, expected, outputs) > 0) {
        refuse(outputs, fmt::format("its results with the digits of {}", format.name));
      }
    }
  }

  // What a kernel gives that reads its inputs with fewer digits and computes exactly must be refused on some set.
  void refuse_coarse_inputs() {
    // Outputs of f32 are no better for digits of the inputs that they cannot show.
    if (returns(DataType::f64)) refuse_inputs_of(kFloatFormat);
    refuse_inputs_of(kHalfFormats[0]);
  }

  // A reference whose arithmetic is outside of `real` leaves values without an error that are no moved inputs.
  void warn_about_exact_results() {
    if (!pack_.tolerance.is_derived()) return;
    for (std::size_t o = 0; o < pack_.outputs.size(); ++o) {
      const ExpectedValues& output = pool_[0].expected.floating[o];
      if (std::ranges::any_of(output.bounds, [](double bound) { return bound > 0; })) continue;
      const std::size_t step = output.values.size() / kLooked + 1;
      bool moved = true;
      for (std::size_t i = 0; i < output.values.size() && moved; i += step) {
        moved = output.values[i] == std::round(output.values[i]) || is_input(output.values[i]);
      }
      if (moved) continue;
      log::warning(
          fmt::format("task {}, case {}: output {} must be met exactly, though its values are none of the "
                      "inputs: does the reference compute in float or double? write real(x) first",
                      pack_.name, pool_.input_case().name, pack_.outputs[o].name));
    }
  }

  void warn_about_loose_tolerance(double seed_share) {
    if (seed_share <= 0 || seed_share >= kLooseShare) return;
    log::warning(
        fmt::format("task {}, case {}: the tolerance is {:.0f} times the error of the seed; an error model that "
                    "explains more than {:.0f} is rare: is it derived?",
                    pack_.name, pool_.input_case().name, 1 / seed_share, 1 / kLooseShare));
  }

  void require_dependence_on_inputs() {
    for (std::size_t i = 0; i < pack_.inputs.size(); ++i) {
      if (differ(pool_.variation(0, i).expected, pool_.variation(0, i).expected)) continue;
      throw Error(ErrorKind::bad_data,
                  fmt::format("task {}, case {}: the reference's outputs do not depend on input {}", pack_.name,
                              pool_.input_case().name, pack_.inputs[i].name));
    }
  }

 private:
  template <class T>
  bool holds(std::size_t input, double value) const {
    const BufferSpan& span = pool_.input_layout().buffers[input];
    const auto* values = reinterpret_cast<const T*>(pool_[0].inputs.data() + span.offset);
    return std::any_of(values, values + span.bytes / sizeof(T),
                       [&](T x) { return std::fabs(static_cast<double>(x)) == std::fabs(value); });
  }

  bool is_input(double value) const {
    for (std::size_t i = 0; i < pack_.inputs.size(); ++i) {
      if (pack_.inputs[i].dtype == DataType::f32 && holds<float>(i, value)) return true;
      if (pack_.inputs[i].dtype == DataType::f64 && holds<double>(i, value)) return true;
    }
    return false;
  }

  bool differ(const ExpectedOutputs& a, const ExpectedOutputs& b) const {
    const auto same_values = [](const ExpectedValues& x, const ExpectedValues& y) { return x.values == y.values; };
    if (!std::ranges::equal(a.floating, b.floating, same_values)) return true;
    for (std::size_t o = 0; o < pack_.outputs.size(); ++o) {
      const BufferSpan& span = pool_.check().reference_layout.buffers[o];
      if (is_floating(pack_.outputs[o].dtype)) continue;
      if (std::memcmp(a.bytes.data() + span.offset, b.bytes.data() + span.offset, span.bytes) != 0) return true;
    }
    return false;
  }

  void copy_input(std::size_t input, std::span<std::byte> output) {
    const BufferSpan& from = pool_.input_layout().buffers[input];
    for (std::size_t at = 0; at < output.size(); at += from.bytes) {
      std::memcpy(output.data() + at, pool_[0].inputs.data() + from.offset, std::min(from.bytes, output.size() - at));
    }
  }

  void refuse_inputs_of(const LowPrecision& format) {
    bool passes = false;
    for (std::size_t set = 0; set < pool_.size(); ++set) {
      const InputSet rounded = pool_.rounded(set, format.mantissa_bits);
      if (rounded.inputs == pool_[set].inputs) continue;  // integers
      const std::vector<std::byte> outputs = exact_outputs(pool_.check(), rounded.expected);
      if (first_difference(pool_.check(), pool_[set].expected, outputs)) return;
      passes = true;
    }
    if (!passes) return;
    throw Error(
        ErrorKind::bad_data,
        fmt::format("task {}, case {}: a candidate that reads its inputs with the digits of {} would pass; give "
                    "an input a check_generator (cancelling, wide), or tighten the tolerance",
                    pack_.name, pool_.input_case().name, format.name));
  }

  void refuse(const std::vector<std::byte>& outputs, const std::string& what) {
    if (first_difference(pool_.check(), pool_[0].expected, outputs)) return;
    throw Error(ErrorKind::bad_data,
                fmt::format("task {}, case {}: a candidate that returns {} would pass; tighten the tolerance or change "
                            "the inputs{}",
                            pack_.name, pool_.input_case().name, what,
                            returns(DataType::f64) && returns(DataType::f32)
                                ? "; outputs of f32 and of f64 need a task each, with a tolerance of its own"
                                : ""));
  }

  bool returns(DataType type) const {
    return std::ranges::any_of(pack_.outputs, [type](const TensorSpec& output) { return output.dtype == type; });
  }

  const TaskPack& pack_;
  InputPool& pool_;
};

// Who lists a source twice meant another one, and would measure each of its kernels twice.
std::vector<TaskFinding> find_twins(const TaskPack& task) {
  std::vector<TaskFinding> findings;
  for (auto b = task.sources.begin(); b != task.sources.end(); ++b) {
    const auto a = std::find_if(task.sources.begin(), b, [&](const CandidateSource& source) {
      return source.text == b->text && source.tunables == b->tunables && source.constraints == b->constraints;
    });
    if (a == b) continue;
    findings.push_back({b->file, "a source of its own", "the same as " + a->file,
                        "listed twice among the candidates of task.yaml: remove one"});
  }
  return findings;
}

}  // namespace

void admit_task(const TaskPack& task, const HostOptions& options, const std::stop_token& stop) {
  const TemporaryFolder folder;
  const CompileEnvironment environment = make_compile_environment(options, folder);
  const HostTask host_task = prepare_task(environment, task, folder.path(), stop);
  const CorePair cores = choose_cores();
  const DeviceLock lock(stop);
  const TimingThread timing_thread(task.threads > 1 ? -1 : cores.harness, options.real_time && task.threads == 1);
  Session session(environment, host_task, cores, RngStream(secret_seed()), stop);
  for (std::size_t c = 0; c < session.pools().size(); ++c) {
    throw_if_stopped(stop);
    Admission admission(task, *session.pools()[c]);
    admission.refuse_trivial_candidates();
    admission.refuse_coarse_candidates();
    admission.refuse_coarse_inputs();
    admission.warn_about_exact_results();
    admission.require_dependence_on_inputs();
    admission.warn_about_loose_tolerance(session.seed_share_of_tolerance(c, stop));
  }
}

TaskCheck check_task(const TaskPack& task, const HostOptions& options, std::stop_token stop) {
  admit_task(task, options, stop);
  std::vector<MeasureRequest> requests;
  std::set<std::string> sources;
  for (Candidate& candidate : list_candidates(task)) {
    const bool is_first = sources.insert(candidate.kernel.template_id).second;
    if (is_first || !candidate.expect.empty()) requests.push_back({&task, std::move(candidate)});
  }
  const auto measurer = make_host_measurer(options, secret_seed());
  const std::vector<Measurement> results = measurer->measure(requests, {}, stop);
  TaskCheck check;
  check.findings = find_twins(task);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string expected = requests[i].candidate.expect.empty() ? "ok" : requests[i].candidate.expect;
    const std::string got(name_of(results[i].status));
    if (got != expected) check.findings.push_back({results[i].kernel_name, expected, got, results[i].log});
    const auto share = results[i].facts.find("tolerance_share");
    if (share == results[i].facts.end() || share->second <= check.tolerance_share) continue;
    check.tolerance_share = share->second;
    check.closest = results[i].kernel_name;
  }
  return check;
}

}  // namespace kc
