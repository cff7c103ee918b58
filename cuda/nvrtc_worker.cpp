#include "cuda/nvrtc_worker.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/error.h"

namespace kc {
namespace {

constexpr double kStartSeconds = 60;

std::vector<std::string> command_line(const CudaToolkit& toolkit, const CudaCompileOptions& options) {
  std::vector<std::string> arguments = {
      find_nvrtc_worker().string(), toolkit.nvrtc.string(), std::to_string(options.memory_limit_mb << 20),
      fmt::format("{:.0f}", options.timeout_s + 0.5), options.sandbox == "off" ? "0" : "1"};
  for (const auto& folder : toolkit.includes) arguments.push_back(folder.string());
  return arguments;
}

}  // namespace

std::filesystem::path find_nvrtc_worker() { return find_worker_program("kernelcast-nvrtc", "KERNELCAST_NVRTC"); }

NvrtcWorker::NvrtcWorker(const CudaToolkit& toolkit, const CudaCompileOptions& options)
    : timeout_s_(options.timeout_s),
      memory_limit_mb_(options.memory_limit_mb),
      process_(command_line(toolkit, options), {"LC_ALL=C"}) {
  const auto greeting = process_.receive(WorkerProcess::after(kStartSeconds), {});
  if (!greeting || greeting->size() != 4 || greeting->front() != "hello") {
    const bool said_why = greeting && greeting->size() == 2;
    const std::string message = fmt::format("the compiler {} does not start: {}", toolkit.nvrtc.string(),
                                            said_why ? (*greeting)[1] : why_it_ended());
    if (was_killed_) throw WorkerKilled(ErrorKind::environment, message);
    throw Error(ErrorKind::environment, message);
  }
  version_ = (*greeting)[1];
  missing_ = static_cast<unsigned>(std::strtoul((*greeting)[2].c_str(), nullptr, 10));
  keeps_headers_ = (*greeting)[3] == "1";
}

std::string NvrtcWorker::why_it_ended() {
  const bool timed_out = process_.timed_out();
  // One that has closed its socket is about to be reaped: it must not be killed by us in between.
  for (int i = 0; i < 100 && !timed_out && !process_.has_ended(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const int status = process_.end();
  was_killed_ = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  if (timed_out) return fmt::format("the compiler was stopped after {} s", timeout_s_);
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    return fmt::format("the compiler was stopped after {} s of CPU time", timeout_s_);
  }
  return fmt::format("the compiler ended with {} (limit of memory: {} MB)", describe_end(status), memory_limit_mb_);
}

NvrtcWorker::Answer NvrtcWorker::compile(const Fields& request, const std::stop_token& stop) {
  const auto deadline = WorkerProcess::after(timeout_s_);
  Answer answer;
  auto reply = process_.send(request, deadline, stop) ? process_.receive(deadline, stop) : std::nullopt;
  if (!reply || reply->size() != 4) {
    answer.alive = false;
    const bool timed_out = process_.timed_out();
    answer.name = why_it_ended();
    answer.killed = !timed_out && was_killed_;
    return answer;
  }
  answer.result = static_cast<int>(std::strtol((*reply)[0].c_str(), nullptr, 10));
  answer.name = std::move((*reply)[1]);
  answer.log = std::move((*reply)[2]);
  answer.cubin = std::move((*reply)[3]);
  return answer;
}

}  // namespace kc
