#pragma once
// A task in memory, and requests for it, for tests of what stands between programs and devices.
#include <string>
#include <vector>

#include "measure/fake_device.h"
#include "measure/measurer.h"

namespace kc::test {

inline TaskPack fake_task(const std::string& name = "fake") {
  TaskPack pack;
  pack.name = name;
  pack.cases = {{"only", {{"N", 4}}}};
  pack.work = "N";
  pack.seed = {"cpp", "seed", "the seed", {}};
  pack.seed_name = "seed.cpp";
  return pack;
}

inline std::vector<MeasureRequest> fake_requests(const TaskPack& pack, int count,
                                                 const std::string& prefix = "kernel") {
  std::vector<MeasureRequest> requests;
  for (int i = 0; i < count; ++i) {
    const std::string text = prefix + " " + std::to_string(i);
    requests.push_back({&pack, {text + ".cpp", {"cpp", text, text, {}}, false, ""}});
  }
  return requests;
}

// Counts the candidates that reach it.
struct CountingScript {
  FakeOptions options(int& counter) const {
    FakeOptions fake;
    fake.script = [&counter](const MeasureRequest& request) {
      ++counter;
      Measurement result;
      for (const CaseSpec& one : request.task->cases) result.cases.push_back({one.name, 4, {2.F, 2.F}, {1.F, 1.F}});
      if (request.candidate.kernel.source.starts_with("slow")) result.status = MeasurementStatus::timeout;
      if (request.candidate.kernel.source.starts_with("bad")) result.status = MeasurementStatus::compile_error;
      if (result.status != MeasurementStatus::ok) result.cases.clear();
      return result;
    };
    return fake;
  }
};

}  // namespace kc::test
