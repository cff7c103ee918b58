#pragma once
// A small task pack on disk: y = 2 x + 1, with sources of the test's choice.
#include <filesystem>
#include <map>
#include <string>

#include "measure/host_device.h"
#include "measure/task_pack.h"
#include "tests/support/temp_folder.h"

namespace kc::test {

inline constexpr const char* kHonestSource =
    R"(void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* x = (const float*)inputs[0];
  float* y = (float*)outputs[0];
  for (long long i = 0; i < c->N; ++i) y[i] = 2.0f * x[i] + 1.0f;
}
)";

inline constexpr const char* kReferenceSource =
    R"(void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* x = (const float*)inputs[0];
  double* y = (double*)outputs[0];
  for (long long i = 0; i < c->N; ++i) y[i] = 2.0 * x[i] + 1.0;
}
)";

inline constexpr const char* kTaskYaml = R"(name: affine
title: y = 2 x + 1
sizes: [N]
cases:
  - {name: even, sizes: {N: 4096}}
  - {name: odd, sizes: {N: 4001}}
inputs:
  - {name: x, dtype: f32, shape: "N", generator: {kind: normal}}
outputs:
  - {name: y, dtype: f32, shape: "N"}
tolerance: {relative: 1.0e-6, absolute: 1.0e-6, reason: two roundings}
reference: reference.cpp
seed: {source: honest.cpp}
candidates:
  - {source: honest.cpp}
compiler: {flags: [-O2]}
work: "N"
)";

using Files = std::map<std::string, std::string>;  // name to text

// The folder `affine` with task.yaml, reference and seed; more files, or other texts for these, by name.
class TaskFiles {
 public:
  explicit TaskFiles(const Files& files = {}) {
    write("task.yaml", kTaskYaml);
    write("reference.cpp", kReferenceSource);
    write("honest.cpp", kHonestSource);
    for (const auto& [name, text] : files) write(name, text);
  }
  void write(const std::string& name, const std::string& text) { folder_.write("affine/" + name, text); }
  std::filesystem::path path() const { return folder_ / "affine"; }
  const TempFolder& folder() const { return folder_; }

 private:
  TempFolder folder_;
};

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::logic_error("no '" + from + "' in the text");
  return text.replace(at, from.size(), to);
}

// Options that end a hanging candidate soon.
inline HostOptions quick_options() {
  HostOptions options;
  options.run_timeout_s = 0.5;
  options.time_budget_s = 0.1;
  options.memory_limit_mb = 512;
  return options;
}

inline Candidate candidate_of(const std::string& source) {
  return {"candidate.cpp", {"cpp", "id", source, {}}, false, ""};
}

inline Measurement measure_source(const TaskPack& pack, const std::string& source,
                                  const HostOptions& options = quick_options()) {
  const MeasureRequest request{&pack, candidate_of(source)};
  return make_host_measurer(options, 12345)->measure(std::span(&request, 1), {}, {}).at(0);
}

}  // namespace kc::test
