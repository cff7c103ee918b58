#include "model/parallel.h"

#include <atomic>
#include <exception>

#include <ATen/Parallel.h>

#include "model/thread_team.h"

namespace kc {

void parallel_tasks(std::int64_t count, const std::function<void(std::int64_t)>& task) {
  const std::int64_t threads = std::min<std::int64_t>(count, at::in_parallel_region() ? 1 : at::get_num_threads());
  if (threads <= 1) {
    for (std::int64_t i = 0; i < count; ++i) task(i);
    return;
  }
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  on_thread_team(static_cast<int>(threads), [&] {
    try {
      for (std::int64_t i = next++; i < count && !failed; i = next++) task(i);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace kc
