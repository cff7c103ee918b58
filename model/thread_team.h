#pragma once
#include <functional>

namespace kc {

// work() on each of `threads` OpenMP threads: the same team as LibTorch's, so that the two never compete.
// work must not throw.
void on_thread_team(int threads, const std::function<void()>& work);

}  // namespace kc
