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
inline constexpr const char* kHonestBody =
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

}  // namespace kc::test
