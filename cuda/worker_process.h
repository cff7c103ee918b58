#pragma once
// The harness's side of a worker process: a program of ours that answers one message after another through a socket.
#include <chrono>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cuda/fields.h"
#include "measure/process.h"

namespace kc {

class WorkerProcess {
 public:
  using Clock = std::chrono::steady_clock;

  // Error{environment} when the program cannot be started.
  WorkerProcess(std::vector<std::string> arguments, std::vector<std::string> environment);

  // Both false or empty when the worker died, talked rubbish, or the deadline passed (timed_out() then).
  // Error{interrupted} after the worker was killed.
  bool send(const Fields& fields, Clock::time_point deadline, const std::stop_token& stop);
  std::optional<Fields> receive(Clock::time_point deadline, const std::stop_token& stop);
  bool timed_out() const { return timed_out_; }

  pid_t pid() const { return process_.pid(); }
  bool has_ended() { return process_.has_ended(); }
  // Kills it; how it ended, as waitpid reports it.
  int end();

  static Clock::time_point after(double seconds);

 private:
  bool wait_for(short events, Clock::time_point deadline, const std::stop_token& stop);

  Descriptor socket_;
  ProcessGroup process_;
  bool timed_out_ = false;
};

// A program of ours beside the running one, or where the environment variable points. Error{environment}.
std::filesystem::path find_worker_program(const char* name, const char* variable);

}  // namespace kc
