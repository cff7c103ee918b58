// CUDA's functions and qualifiers, on the threads of threads_on_host.h.
static inline void __syncthreads() { kc_emulation::block_wait(); }
static inline void __syncwarp(unsigned mask = 0xFFFFFFFFu) { kc_emulation::warp_wait(mask); }
static inline void __threadfence() {}
static inline void __threadfence_block() {}

template <class T>
static inline T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int base = kc_emulation::lane() / width * width;
  return kc_emulation::exchange(mask, value, base + source % width);
}
template <class T>
static inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const int self = kc_emulation::lane(), other = self ^ bits;
  return kc_emulation::exchange(mask, value, other / width == self / width ? other : self);
}
template <class T>
static inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int self = kc_emulation::lane(), other = self + static_cast<int>(delta);
  return kc_emulation::exchange(mask, value, other / width == self / width ? other : self);
}
template <class T>
static inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int self = kc_emulation::lane(), other = self - static_cast<int>(delta);
  return kc_emulation::exchange(mask, value, other >= self / width * width ? other : self);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i) {
    if ((mask >> i & 1) == 0) continue;
    result |= static_cast<unsigned>(kc_emulation::exchange(mask, predicate != 0 ? 1 : 0, i)) << i;
  }
  return result;
}

template <class T>
static inline T atomicAdd(T* a, T v) {
  return kc_emulation::update(a, [v](T old) { return static_cast<T>(old + v); });
}
template <class T>
static inline T atomicMax(T* a, T v) {
  return kc_emulation::update(a, [v](T old) { return old < v ? v : old; });
}
template <class T>
static inline T atomicExch(T* a, T v) {
  return kc_emulation::update(a, [v](T) { return v; });
}
template <class T>
static inline T __ldg(const T* p) {
  return *p;
}

static inline unsigned __float_as_uint(float x) {
  unsigned u;
  memcpy(&u, &x, 4);
  return u;
}
static inline float __uint_as_float(unsigned u) {
  float x;
  memcpy(&x, &u, 4);
  return x;
}
static inline float __fdividef(float a, float b) { return a / b; }
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline long long min(long long a, long long b) { return a < b ? a : b; }
static inline long long max(long long a, long long b) { return a > b ? a : b; }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }

#define __expf expf
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static __attribute__((section("kc_shared")))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define KC_EMULATION 1
