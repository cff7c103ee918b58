#pragma once
// Where NVRTC and the CUDA headers are: NVIDIA's pip wheels or an installed toolkit.
#include <filesystem>
#include <string>
#include <vector>

namespace kc {

struct CudaToolkit {
  std::filesystem::path root;
  std::filesystem::path nvrtc;                  // libnvrtc.so.N
  std::vector<std::filesystem::path> includes;  // in search order; the C++ core libraries among them where present
  bool has_core_libraries = false;              // cub, cuda/std: the wheel nvidia-cuda-cccl
  bool has_crt = false;                         // mma.h and cooperative groups need crt/: the wheel nvidia-cuda-crt
};

// `root` names a folder with lib/ or lib64/ and include/; empty: the environment variable KERNELCAST_CUDA, then the
// folders found when the project was configured, then /usr/local/cuda. Error{environment} lists where it looked.
CudaToolkit find_cuda_toolkit(const std::filesystem::path& root = {});

}  // namespace kc
