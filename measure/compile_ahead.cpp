#include "measure/compile_ahead.h"

#include <sched.h>

#include <algorithm>
#include <filesystem>
#include <future>
#include <thread>

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
  std::future<std::vector<CompileResult>> running = {};
  std::stop_source cancelled = {};
  std::jthread thread = {};
};

CompileAhead::CompileAhead(const CompileEnvironment& environment, std::vector<CompileJob> jobs, const CorePair& timed,
                           int spare)
    : impl_(new Impl{environment, std::move(jobs)}) {
  if (spare == 0) return;
  std::packaged_task<std::vector<CompileResult>()> work([impl = impl_.get(), timed, spare] {
    leave_cores(timed);
    CompileEnvironment limited = impl->environment;
    limited.options.compile_jobs = std::min<std::int64_t>(limited.options.compile_jobs, spare);
    return compile_all(limited, impl->jobs, impl->cancelled.get_token());
  });
  impl_->running = work.get_future();
  impl_->thread = std::jthread(std::move(work));
}

CompileAhead::~CompileAhead() {
  impl_->cancelled.request_stop();
  if (impl_->thread.joinable()) impl_->thread.join();
  std::error_code ignored;
  for (const CompileJob& job : impl_->jobs) std::filesystem::remove_all(job.folder, ignored);
}

const std::vector<CompileJob>& CompileAhead::jobs() const { return impl_->jobs; }

std::vector<CompileResult> CompileAhead::results(const std::stop_token& stop) {
  if (!impl_->running.valid()) return compile_all(impl_->environment, impl_->jobs, stop);
  const std::stop_callback forward(stop, [this] { impl_->cancelled.request_stop(); });
  return impl_->running.get();
}

}  // namespace kc
