#include "cuda/gpu_link.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>

#include "base/error.h"
#include "cuda/toolkit.h"
#include "cuda/worker_process.h"

namespace kc {
namespace {

constexpr double kStartSeconds = 60;

// What the driver's libraries are found by, and which device is which.
std::vector<std::string> environment() {
  std::vector<std::string> kept = {"LC_ALL=C", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "CUDA_CACHE_DISABLE=1"};
  for (const char* name : {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "KERNELCAST_CUBLAS"}) {
    if (const char* value = std::getenv(name)) kept.push_back(fmt::format("{}={}", name, value));
  }
  if (std::getenv("KERNELCAST_CUBLAS") != nullptr) return kept;
  try {  // of the same toolkit; only baselines need it
    const auto library = find_cuda_toolkit().nvrtc.parent_path() / "libcublas.so.13";
    if (std::filesystem::exists(library)) kept.push_back("KERNELCAST_CUBLAS=" + library.string());
  } catch (const Error&) {
    return kept;
  }
  return kept;
}

class ProcessLink : public GpuLink {
 public:
  explicit ProcessLink(int device)
      : process_({find_worker_program("kernelcast-gpu", "KERNELCAST_GPU").string(), std::to_string(device)},
                 environment()) {}

  std::optional<Fields> call(const Fields& request, double timeout_s, const std::stop_token& stop) override {
    if (!greeted_) greet(stop);
    const auto deadline = WorkerProcess::after(timeout_s);
    auto reply = process_.send(request, deadline, stop) ? process_.receive(deadline, stop) : std::nullopt;
    if (!reply) {
      timed_out_ = process_.timed_out();
      end_ = process_.end();
    }
    return reply;
  }
  bool timed_out() const override { return timed_out_; }
  std::string why_it_ended() override { return describe_end(end_); }
  unsigned pid() const override { return static_cast<unsigned>(process_.pid()); }

 private:
  void greet(const std::stop_token& stop) {
    const auto greeting = process_.receive(WorkerProcess::after(kStartSeconds), stop);
    greeted_ = true;
    if (greeting && greeting->size() == 1) return;
    const std::string why = greeting && greeting->size() == 2 ? (*greeting)[1] : describe_end(process_.end());
    throw Error(ErrorKind::environment, fmt::format("the GPU cannot be used: {}", why));
  }

  WorkerProcess process_;
  bool greeted_ = false;
  bool timed_out_ = false;
  int end_ = 0;
};

}  // namespace

std::int64_t GpuLink::now_ns() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::unique_ptr<GpuLink> start_gpu_process(int device) { return std::make_unique<ProcessLink>(device); }

}  // namespace kc
