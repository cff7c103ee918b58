#pragma once
// What a measurement is, shared by the harness that makes it and the store that keeps it.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "forecast/kernel_text.h"

namespace kc {

enum class MeasurementStatus {
  ok,             // compiled, correct on every case, timed
  compile_error,  // the compiler refused it, or was stopped at a limit
  runtime_error,  // it crashed, broke a limit or a guard region
  incorrect,      // an output differs from the reference by more than the task's tolerance
  timeout,        // it ran past its time limit
};
inline constexpr int kMeasurementStatuses = 5;
std::string_view name_of(MeasurementStatus status);
MeasurementStatus measurement_status_of(std::string_view name);  // Error{bad_data} when unknown

// Times of one input case. Round r of both sides was timed in the same interleaved round; the reference side is empty
// in imported data that never timed a reference beside the candidate. Nanoseconds per launch.
struct CaseTiming {
  std::string name;
  double work = 1;  // units of work per launch: compare time per unit
  std::vector<float> candidate_ns;
  std::vector<float> reference_ns;
};

struct Provenance {
  std::string run_id;     // names one labelling run
  std::string device;     // as in the hardware table
  std::string processor;  // model name the machine reports
  std::string compiler;   // name and version
  std::string compiler_flags;
  std::string harness_version;  // changes when the protocol does: older measurements are then stale
  std::string started_at;       // ISO 8601, UTC
  std::string source;           // of imported rows: where they come from
  double noise_floor = 0;       // median |log2 ratio| of the run's A/A pairs (reference against itself); 0 = unknown
};

// `visit(name, field)` for every field, by the names and in the order of files and messages.
template <class P, class Visit>
void visit_fields(P& provenance, const Visit& visit) {
  visit("run_id", provenance.run_id);
  visit("device", provenance.device);
  visit("processor", provenance.processor);
  visit("compiler", provenance.compiler);
  visit("compiler_flags", provenance.compiler_flags);
  visit("harness_version", provenance.harness_version);
  visit("started_at", provenance.started_at);
  visit("source", provenance.source);
  visit("noise_floor", provenance.noise_floor);
}
nlohmann::json to_json(const Provenance& provenance);

// Numbers about one measurement that are no timing, by name; names and units are listed in docs/data-format.md
// (load_1min, frequency_mhz, threads, registers, spill_bytes ...). A fact that the device cannot tell is absent.
using Facts = std::map<std::string, double>;

struct Measurement {
  std::string task;
  KernelText kernel;
  std::string kernel_name;  // file and tunables, for people
  MeasurementStatus status = MeasurementStatus::ok;
  std::string log;  // excerpt of the compiler's or the checker's words when not ok
  std::vector<CaseTiming> cases;
  Provenance provenance;
  bool is_seed = false;  // the task's seed kernel
  Facts facts;
};

// SHA-256 of template_id, source and parameters: names a kernel in the store.
std::string kernel_id(const KernelText& kernel);

// log2 S against the reference timed in the same rounds: per case the median over rounds of reference/candidate, over
// cases the mean of the logs. Without a reference side: -log2 of the median candidate time per unit of work, comparable
// only between kernels of one task and device. Error{bad_data} for no rounds or a time that is not finite and positive.
double log2_speedup_scalar(const Measurement& measurement);

}  // namespace kc
