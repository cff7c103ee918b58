#pragma once
// Splitting work among ATen's threads. Results never depend on which thread did what.
#include <atomic>
#include <cstdint>
#include <vector>

#include <ATen/Parallel.h>

namespace kc {

// f(i) once for each i in [0, count), handed out one at a time; the tasks must be independent.
template <class F>
void parallel_tasks(std::int64_t count, const F& f) {
  std::atomic<std::int64_t> next{0};
  const std::int64_t workers = std::min<std::int64_t>(count, at::get_num_threads());
  at::parallel_for(0, workers, 1, [&](std::int64_t, std::int64_t) {
    for (std::int64_t i = next++; i < count; i = next++) f(i);
  });
}

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
