#pragma once
// Compiling the next candidates while others are timed, where cores are left for it.
#include <memory>
#include <stop_token>
#include <vector>

#include "measure/compile.h"
#include "measure/machine.h"

namespace kc {

// Cores that compilers may use while a task is timed: all but the harness's and those of the task's own threads. 0 when
// none is left: then nothing is compiled meanwhile.
int spare_cores(int usable_cores, int task_threads);

class CompileAhead {
 public:
  // With `spare` cores starts at once in the background, on other cores than `timed`; with none, nothing happens before
  // results(). The environment must outlive it.
  CompileAhead(const CompileEnvironment& environment, std::vector<CompileJob> jobs, const CorePair& timed, int spare);
  ~CompileAhead();  // stops what is still running, and removes the jobs' folders
  CompileAhead(const CompileAhead&) = delete;
  CompileAhead& operator=(const CompileAhead&) = delete;

  const std::vector<CompileJob>& jobs() const;
  // Blocks; throws what compile_all throws. To be called once.
  std::vector<CompileResult> results(const std::stop_token& stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kc
