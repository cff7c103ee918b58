#include "cuda/gpu_link.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "cuda/toolkit.h"
#include "cuda/worker_process.h"
#include "measure/process.h"
#include "measure/runner_protocol.h"

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

// Folders of libraries that the driver is found in, beside those of the system.
std::vector<std::string> library_folders(const std::vector<std::string>& environment) {
  std::vector<std::string> folders;
  for (const std::string& variable : environment) {
    const std::size_t equals = variable.find('=');
    const std::string name = variable.substr(0, equals), value = variable.substr(equals + 1);
    if (name == "KERNELCAST_CUBLAS") folders.push_back(std::filesystem::path(value).parent_path().string());
    if (name != "LD_LIBRARY_PATH") continue;
    for (std::size_t at = 0; at < value.size();) {
      const std::size_t end = std::min(value.find(':', at), value.size());
      if (end > at) folders.push_back(value.substr(at, end - at));
      at = end + 1;
    }
  }
  return folders;
}

// Set when the GPU worked outside the sandbox only: later runners do not try again.
std::atomic<bool> works_only_outside = false;

// `bits`: kNo... bits in decimal, as the runner greets.
std::vector<std::string> names_of_missing(const std::string& bits) {
  const unsigned long missing = std::strtoul(bits.c_str(), nullptr, 10);
  std::vector<std::string> pieces;
  if ((missing & kNoNamespaces) != 0) pieces.emplace_back("a network of its own");
  if ((missing & kNoLandlock) != 0) pieces.emplace_back("Landlock");
  if ((missing & kNoSystemCallFilter) != 0) pieces.emplace_back("system call filter");
  return pieces;
}

void report_missing(const std::string& mode, const std::vector<std::string>& pieces) {
  if (pieces.empty()) return;
  const std::string message = fmt::format("kernelcast-gpu runs without: {}", fmt::join(pieces, ", "));
  if (mode == "require") {
    throw Error(ErrorKind::environment, message + "; measure.sandbox is 'require' (docs/cuda.md, Processes)");
  }
  static std::atomic<bool> warned = false;
  if (!warned.exchange(true)) log::warning("SANDBOX INCOMPLETE: " + message);
}

class ProcessLink : public GpuLink {
 public:
  ProcessLink(int device, std::string sandbox) : device_(device), sandbox_(std::move(sandbox)) {
    start(sandbox_ == "require" || (sandbox_ != "off" && !works_only_outside));
  }

  std::optional<Fields> call(const Fields& request, double timeout_s, const std::stop_token& stop) override {
    if (!greeted_) greet(stop);
    const auto deadline = WorkerProcess::after(timeout_s);
    auto reply = process_->send(request, deadline, stop) ? process_->receive(deadline, stop) : std::nullopt;
    if (!reply) {
      timed_out_ = process_->timed_out();
      end_ = process_->end();
    }
    return reply;
  }
  bool timed_out() const override { return timed_out_; }
  std::string why_it_ended() override { return describe_end(end_); }
  unsigned pid() const override { return static_cast<unsigned>(process_->pid()); }

 private:
  void start(bool sandboxed) {
    sandboxed_ = sandboxed;
    const std::vector<std::string> variables = environment();
    std::vector<std::string> arguments = {find_worker_program("kernelcast-gpu", "KERNELCAST_GPU").string(),
                                          std::to_string(device_),
                                          sandboxed           ? "inside"
                                          : sandbox_ == "off" ? "off"
                                                              : "outside",
                                          folder_.path().string()};
    for (std::string& folder : library_folders(variables)) arguments.push_back(std::move(folder));
    process_ = std::make_unique<WorkerProcess>(std::move(arguments), variables);
  }

  // Nothing when the runner is ready, else why it is not.
  std::optional<std::string> read_greeting(const std::stop_token& stop) {
    const auto greeting = process_->receive(WorkerProcess::after(kStartSeconds), stop);
    if (!greeting || greeting->size() != 2) return describe_end(process_->end());
    if (greeting->front() != "hello") return (*greeting)[1];
    if (sandboxed_) report_missing(sandbox_, names_of_missing((*greeting)[1]));
    return std::nullopt;
  }

  // What the driver needs differs between its versions: where it does not start inside the sandbox, it is asked again
  // outside.
  void greet(const std::stop_token& stop) {
    greeted_ = true;
    const auto fault = read_greeting(stop);
    if (!fault) return;
    if (sandboxed_ && sandbox_ == "require") {
      throw Error(ErrorKind::environment,
                  fmt::format("the GPU cannot be used inside the sandbox of kernelcast-gpu, and measure.sandbox is "
                              "'require': {}",
                              *fault));
    }
    if (sandboxed_) {
      start(false);
      if (!read_greeting(stop)) {
        works_only_outside = true;
        log::warning(
            fmt::format("SANDBOX OFF: kernelcast-gpu cannot use the GPU inside its sandbox ({}) and runs "
                        "without it (docs/cuda.md, Processes)",
                        *fault));
        return;
      }
    }
    throw Error(ErrorKind::environment, fmt::format("the GPU cannot be used: {}", *fault));
  }

  int device_;
  std::string sandbox_;
  TemporaryFolder folder_;  // the runner's own
  bool sandboxed_ = false;
  std::unique_ptr<WorkerProcess> process_;
  bool greeted_ = false;
  bool timed_out_ = false;
  int end_ = 0;
};

}  // namespace

std::int64_t GpuLink::now_ns() const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::vector<std::string> missing_gpu_isolation() {
  const TemporaryFolder folder;
  WorkerProcess process(
      {find_worker_program("kernelcast-gpu", "KERNELCAST_GPU").string(), kNoDevice, "inside", folder.path()},
      {"LC_ALL=C"});
  const auto greeting = process.receive(WorkerProcess::after(kStartSeconds), {});
  if (!greeting || greeting->size() != 2) {
    throw Error(ErrorKind::environment, fmt::format("kernelcast-gpu does not start: {}", describe_end(process.end())));
  }
  return names_of_missing((*greeting)[1]);
}

std::unique_ptr<GpuLink> start_gpu_process(int device, const std::string& sandbox) {
  return std::make_unique<ProcessLink>(device, sandbox);
}

}  // namespace kc
