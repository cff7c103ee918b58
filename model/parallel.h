#pragma once
// Splitting work among the compute threads (set_compute_threads). Results never depend on which thread did what.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace kc {

// task(i) once for each i in [0, count), handed out one at a time; the tasks must be independent. The first exception
// is thrown again here, after all threads have ended.
void parallel_tasks(std::int64_t count, const std::function<void(std::int64_t)>& task);

// f(from, to) over blocks of `grain` consecutive rows.
template <class F>
void parallel_rows(std::int64_t rows, std::int64_t grain, const F& f) {
  parallel_tasks((rows + grain - 1) / grain, [&](std::int64_t i) { f(i * grain, std::min(rows, (i + 1) * grain)); });
}

// Per-thread scratch of at least `size` elements; contents are undefined. `slot` tells buffers in use at once apart.
template <class C, int slot>
C* scratch(std::int64_t size) {
  thread_local std::vector<C> buffer;
  if (static_cast<std::int64_t>(buffer.size()) < size) buffer.resize(static_cast<std::size_t>(size));
  return buffer.data();
}

}  // namespace kc
