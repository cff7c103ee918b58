#include "tests/support/synthetic_store.h"

#include <cmath>

#include "base/hash.h"

namespace kc::test {
namespace {

Measurement synthetic_measurement(const std::string& task, int width, int depth, double log2_speedup) {
  Measurement m;
  m.task = task;
  m.kernel.language = "cpp";
  m.kernel.source = "void run() { /* " + task + " */ work(WIDTH, DEPTH); }\n";
  m.kernel.template_id = sha256_hex(m.kernel.source);
  m.kernel.parameters = {{"WIDTH", std::to_string(width)}, {"DEPTH", std::to_string(depth)}};
  m.kernel_name = task + " WIDTH=" + std::to_string(width) + " DEPTH=" + std::to_string(depth);
  const double reference_ns = 1.0e5;
  const auto candidate_ns = static_cast<float>(reference_ns / std::exp2(log2_speedup));
  m.cases = {{"only", 1.0, {candidate_ns, candidate_ns, candidate_ns}, {1.0e5F, 1.0e5F, 1.0e5F}}};
  m.provenance.run_id = "synthetic";
  m.provenance.device = "AMD EPYC";
  m.provenance.processor = "AMD EPYC";
  m.provenance.compiler = "none";
  m.provenance.harness_version = "test";
  m.provenance.started_at = "2026-01-01T00:00:00Z";
  return m;
}

}  // namespace

Store synthetic_store(int levels) {
  Store store;
  for (int sign : {1, -1}) {
    const std::string task = sign > 0 ? "widen" : "deepen";
    for (int width = 0; width < levels; ++width) {
      for (int depth = 0; depth < levels; ++depth) {
        store.measurements.push_back(synthetic_measurement(task, width, depth, sign * 0.45 * (width - 0.5 * depth)));
      }
    }
  }
  store.measurements.front().is_seed = true;
  return store;
}

}  // namespace kc::test
