#pragma once
// The pack of tests/measure/task_files.h with a CUDA part: y = 2 x + 1.
#include <string>

#include "tests/measure/task_files.h"

namespace kc::test {

inline constexpr const char* kCudaSource =
    R"(#pragma kernelcast launch run grid(ceil_div(N, BLOCK)) block(BLOCK)
__global__ void run(Case c, const float* x, float* y) {
  const long long i = blockIdx.x * (long long)BLOCK + threadIdx.x;
  if (i < c.N) y[i] = 2.0f * x[i] + 1.0f;
}
)";

inline constexpr const char* kCudaYaml = R"(devices: [host, cuda]
cuda:
  seed: {source: affine.cu, set: {BLOCK: 256}}
  candidates:
    - {source: affine.cu, tunables: {BLOCK: [64, 128, 256]}}
)";

class CudaTask {
 public:
  explicit CudaTask(const std::string& yaml = kCudaYaml, const Files& files = {}) {
    files_.write("affine.cu", kCudaSource);
    for (const auto& [name, text] : files) files_.write(name, text);
    files_.write("task.yaml", std::string(kTaskYaml) + yaml);
    pack_ = pack_for_device(load_task_pack(files_.path()), "cuda");
  }
  const TaskPack& pack() const { return pack_; }
  std::filesystem::path folder() const { return files_.path(); }

 private:
  TaskFiles files_;
  TaskPack pack_;
};

}  // namespace kc::test
