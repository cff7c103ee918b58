#pragma once
// A device that measures nothing, for tests and for trying what stands above devices.
#include <functional>
#include <memory>

#include "measure/measurer.h"

namespace kc {

struct FakeOptions {
  // The result of a request; task, kernel, name and provenance are filled in afterwards. Empty: the status that the
  // candidate declares (`expect`), and for ok a log2 speedup in [-3, 3] that follows from the kernel's text, the same
  // in every run.
  std::function<Measurement(const MeasureRequest&)> script;
  double seconds_per_candidate = 0;
  std::size_t rounds = 8;
  std::string device = "fake";
  std::string harness_version = "fake-1";
};

std::unique_ptr<Measurer> make_fake_measurer(const FakeOptions& options = {});

}  // namespace kc
