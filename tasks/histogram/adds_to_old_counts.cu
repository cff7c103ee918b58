// Counts on top of what stood in the output.
#pragma kernelcast launch histogram grid(ceil_div(KEYS, 256)) block(256)

extern "C" __global__ void histogram(Case c, const int* keys, int* counts) {
  const long long k = static_cast<long long>(blockIdx.x) * 256 + threadIdx.x;
  if (k < c.KEYS) atomicAdd(&counts[keys[k] / static_cast<int>(c.WIDTH)], 1);
}
