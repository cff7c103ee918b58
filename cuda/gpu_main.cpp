// kernelcast-gpu DEVICE MODE [FOLDER READABLE ...]: the process that holds one candidate's CUDA context. MODE: `inside`
// enters its sandbox first, `outside` only that of host code, when it gets some; `off` neither. Started by the
// measuring programs only.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "cuda/gpu_link.h"
#include "cuda/gpu_runner.h"
#include "cuda/gpu_sandbox.h"
#include "cuda/host_sandbox.h"

namespace {

int serve(int device, std::uint32_t missing, kc::GpuRunner::Confine confine) {
  std::unique_ptr<kc::Driver> driver;
  kc::GpuDevice description;
  try {
    driver = kc::load_driver();
  } catch (const kc::Error& e) {
    kc::send_to_harness({"failed", e.what()});
    return 3;
  }
  kc::DriverStatus fault = driver->describe(device, description);
  if (fault == 0) fault = driver->open(device);
  if (fault != 0) {
    kc::send_to_harness({"failed", driver->text_of(fault)});
    return 3;
  }
  kc::GpuRunner runner(*driver, static_cast<std::size_t>(description.l2_bytes), std::move(confine));
  kc::send_to_harness({"hello", std::to_string(missing)});
  for (;;) {
    const kc::Fields request = kc::receive_from_harness();
    if (request.empty() || request[0] == "quit") return 0;
    kc::send_to_harness(runner.answer(request));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fputs("kernelcast-gpu: started by the measuring programs only\n", stderr);
    return 2;
  }
  const std::string mode = argv[2], folder = argv[3];
  const std::vector<std::string> readable(argv + 4, argv + argc);
  const std::vector<kc::LandlockPath> host_paths = kc::host_code_paths(readable);
  std::uint32_t missing = 0;
  if (mode == "inside") missing = kc::enter_gpu_sandbox(folder, readable);  // before a second thread
  if (argv[1] == std::string(kc::kNoDevice)) {
    kc::send_to_harness({"hello", std::to_string(missing)});
    return 0;
  }
  kc::end_with_harness();
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // nothing is loaded inside a timed span
  const auto confine = [&] { return kc::enter_host_code_sandbox(host_paths); };
  return serve(std::atoi(argv[1]), missing, mode == "off" ? kc::GpuRunner::Confine() : confine);
}
