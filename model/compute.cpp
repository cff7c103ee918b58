#include <malloc.h>

#include <algorithm>
#include <limits>

#include <ATen/Parallel.h>
#include <torch/version.h>

#include "base/cores.h"
#include "model/language_model.h"

namespace kc {
void set_compute_threads(int threads) {
  // Every step allocates the same large tensors: keep their pages instead of returning them to the system each time,
  // which cost a sixth of a training step.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  at::set_num_threads(threads > 0 ? threads : usable_cores());
}

std::string libtorch_version() { return TORCH_VERSION; }

}  // namespace kc
