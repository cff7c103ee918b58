#include "measure/compile_ahead.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>

#include "measure/ahead.h"

namespace kc {
namespace {

// The calling thread and what it starts leave the cores that time something.
void leave_cores(const CorePair& timed) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (::sched_getaffinity(0, sizeof cores, &cores) != 0) return;
  for (const int core : {timed.harness, timed.runner}) {
    if (core >= 0) CPU_CLR(static_cast<std::size_t>(core), &cores);
  }
  if (CPU_COUNT(&cores) > 0) ::sched_setaffinity(0, sizeof cores, &cores);
}

}  // namespace

int spare_cores(int usable_cores, int task_threads) { return std::max(0, usable_cores - 1 - task_threads); }

struct CompileAhead::Impl {
  const CompileEnvironment& environment;
  std::vector<CompileJob> jobs;
  std::unique_ptr<Ahead<std::vector<CompileResult>>> work = {};
};

CompileAhead::CompileAhead(const CompileEnvironment& environment, std::vector<CompileJob> jobs, const CorePair& timed,
                           int spare)
    : impl_(new Impl{environment, std::move(jobs)}) {
  const auto compile = [impl = impl_.get(), timed, spare](const std::stop_token& stop) {
    CompileEnvironment limited = impl->environment;
    if (spare > 0) {
      leave_cores(timed);
      limited.options.compile_jobs = std::min<std::int64_t>(limited.options.compile_jobs, spare);
    }
    return compile_all(limited, impl->jobs, stop);
  };
  impl_->work = std::make_unique<Ahead<std::vector<CompileResult>>>(compile, spare > 0);
}

CompileAhead::~CompileAhead() {
  impl_->work.reset();
  std::error_code ignored;
  for (const CompileJob& job : impl_->jobs) std::filesystem::remove_all(job.folder, ignored);
}

const std::vector<CompileJob>& CompileAhead::jobs() const { return impl_->jobs; }

std::vector<CompileResult> CompileAhead::results(const std::stop_token& stop) { return impl_->work->result(stop); }

}  // namespace kc
