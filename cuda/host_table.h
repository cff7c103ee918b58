#pragma once
// What the host part of a candidate has of CUDA (docs/cuda.md, "Host code"). This very text stands before it when it is
// compiled, so nothing is included and names are global.

// Functions return 0 or a CUresult. They may be called while `run` is, by its thread.
struct KernelcastHost {
  int version;  // 1
  int multiprocessors;
  // One launch of an extern "C" kernel, in order with the others; a cluster of 1 x 1 x 1 is none.
  int (*launch)(const KernelcastHost*, const char* kernel, const unsigned grid[3], const unsigned block[3],
                const unsigned cluster[3], unsigned shared_bytes, void** parameters);
  // Fills 128 bytes, aligned to 64, with a tensor map; arguments as cuTensorMapEncodeTiled has them.
  int (*tensor_map)(const KernelcastHost*, void* map, int type, unsigned rank, const void* address,
                    const unsigned long long* sizes, const unsigned long long* strides, const unsigned* box,
                    const unsigned* element_strides, int interleave, int swizzle, int l2_promotion, int fill);
  // In order with the launches; within one output or scratch.
  int (*zero)(const KernelcastHost*, void* address, unsigned long long bytes);
};
