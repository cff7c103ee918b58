#pragma once
// The harness's side of one compile worker process.
#include <stop_token>
#include <string>

#include "base/error.h"
#include "cuda/compiler.h"
#include "cuda/nvrtc_protocol.h"
#include "cuda/worker_process.h"

namespace kc {

// The worker was killed from outside while it started: starting another may help.
class WorkerKilled : public Error {
 public:
  using Error::Error;
};

class NvrtcWorker {
 public:
  // Starts the process and waits for its greeting. Error{environment} when there is none; WorkerKilled.
  NvrtcWorker(const CudaToolkit& toolkit, const CudaCompileOptions& options);

  const std::string& version() const { return version_; }
  unsigned missing() const { return missing_; }
  bool keeps_headers() const { return keeps_headers_; }
  bool has_ended() { return process_.has_ended(); }

  struct Answer {
    bool alive = true;    // false: the worker died or was stopped, and must be replaced
    bool killed = false;  // by SIGKILL, and not by us: no fault of the source
    int result = 0;       // of nvrtcCompileProgram
    std::string name;     // of the result; why it was stopped
    std::string log;
    std::string cubin;
  };
  // Blocks. Error{interrupted}; the worker is then dead.
  Answer compile(const Fields& request, const std::stop_token& stop);

 private:
  std::string why_it_ended();

  double timeout_s_;
  std::int64_t memory_limit_mb_;
  WorkerProcess process_;
  std::string version_;
  unsigned missing_ = 0;
  bool keeps_headers_ = false;
  bool was_killed_ = false;
};

}  // namespace kc
