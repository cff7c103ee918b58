// Apart from parallel.cpp because LibTorch's header needs <omp.h> where OpenMP is on, which not every compiler brings.
#include "model/thread_team.h"

namespace kc {

void on_thread_team(int threads, const std::function<void()>& work) {
#pragma omp parallel num_threads(threads)
  work();
}

}  // namespace kc
