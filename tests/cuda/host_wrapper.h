#pragma once
// Sources of candidates with a host part, for the task of cuda_task.h.
#include <string>

namespace kc::test {

// Device code for y = 2 x + 1 in two launches; what the kernels do is a script's choice (fake_gpu.h).
inline constexpr const char* kTwoKernels =
    R"(struct alignas(64) Map { unsigned char bytes[128]; };
extern "C" __global__ void doubled(Case c, const __grid_constant__ Map x, float* y) { if (c.N < 0) *y = x.bytes[0]; }
extern "C" __global__ void plus_one(Case c, float* y) { if (c.N < 0) *y += 1; }
#pragma kernelcast host
)";

inline std::string wrapper(const std::string& body, const std::string& before = "") {
  return before +
         "int run(const KernelcastHost* host, const Case* c, const void* const* inputs, void* const* outputs,\n"
         "        void* const* scratch) {\n"
         "  (void)host, (void)c, (void)inputs, (void)outputs, (void)scratch;\n" +
         body + "\n}\n";
}

// The scripted device reads the parameters up to a null pointer.
inline constexpr const char* kHonestWrapper =
    R"(  const unsigned blocks[3] = {unsigned((c->N + 255) / 256), 1, 1}, threads[3] = {256, 1, 1}, one[3] = {1, 1, 1};
  alignas(64) unsigned char map[128];
  const unsigned long long sizes[] = {(unsigned long long)c->N}, strides[] = {0};
  const unsigned box[] = {256}, steps[] = {1};
  if (int fault = host->tensor_map(host, map, 7, 1, inputs[0], sizes, strides, box, steps, 0, 0, 0, 0)) return fault;
  if (int fault = host->zero(host, outputs[0], 4 * c->N)) return fault;
  void* first[] = {(void*)c, map, (void*)&outputs[0], nullptr};
  if (int fault = host->launch(host, "doubled", blocks, threads, one, 0, first)) return fault;
  void* second[] = {(void*)c, (void*)&outputs[0], nullptr};
  return host->launch(host, "plus_one", blocks, threads, one, 0, second);)";

// y = 2 x + 1 for sm_90 and newer: each block's part of x comes by the tensor memory accelerator. Tunable: BLOCK.
inline constexpr const char* kTensorMapCopy =
    R"(struct alignas(64) Map { unsigned char bytes[128]; };

extern "C" __global__ void affine(Case c, const __grid_constant__ Map map, float* y) {
  __shared__ alignas(128) float tile[BLOCK];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned to = (unsigned)__cvta_generic_to_shared(tile), at = (unsigned)__cvta_generic_to_shared(&barrier);
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(at) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(BLOCK * 4) : "memory");
    asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];"
                 ::"r"(to), "l"(&map), "r"((int)(blockIdx.x * BLOCK)), "r"(at) : "memory");
  }
  __syncthreads();
  for (unsigned done = 0; done == 0;) {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p;}"
                 : "=r"(done) : "r"(at) : "memory");
  }
  const long long i = blockIdx.x * (long long)BLOCK + threadIdx.x;
  if (i < c.N) y[i] = 2.0f * tile[threadIdx.x] + 1.0f;
}

#pragma kernelcast host

int run(const KernelcastHost* host, const Case* c, const void* const* inputs, void* const* outputs, void* const*) {
  alignas(64) unsigned char map[128];
  const unsigned long long sizes[] = {(unsigned long long)c->N}, strides[] = {0};  // of rank 1: no stride is read
  const unsigned box[] = {BLOCK}, steps[] = {1};
  constexpr int kFloat32 = 7;  // CU_TENSOR_MAP_DATA_TYPE_FLOAT32
  const int fault = host->tensor_map(host, map, kFloat32, 1, inputs[0], sizes, strides, box, steps, 0, 0, 0, 0);
  if (fault != 0) return fault;
  const unsigned blocks[3] = {unsigned((c->N + BLOCK - 1) / BLOCK), 1, 1}, threads[3] = {BLOCK, 1, 1};
  const unsigned one[3] = {1, 1, 1};
  void* parameters[] = {(void*)c, map, (void*)&outputs[0]};
  return host->launch(host, "affine", blocks, threads, one, 0, parameters);
}
)";

}  // namespace kc::test
