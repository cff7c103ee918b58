// ALGORITHM 0: sums of blocks first, then a running sum in each; 1: running sums in each block, then offsets added;
// 2: running sums of BLOCK vectors at a time in registers; 3: LANES blocks side by side, step by step; 4: the sum of a
// block's values for every element anew, in steps of eight.
#include <string.h>

#if DOUBLE_SUM
typedef double Sum;
#else
typedef float Sum;
#endif
constexpr int kUnroll = UNROLL;
static inline long least(long a, long b) { return a < b ? a : b; }

#if ALGORITHM == 0
static void scan(const float* in, float* out, long n) {
  const long blocks = (n + BLOCK - 1) / BLOCK;
  Sum* offset = (Sum*)__builtin_alloca((blocks + 1) * sizeof(Sum));
  offset[0] = 0;
  for (long b = 0; b < blocks; ++b) {
    Sum sum = 0;
#pragma GCC unroll kUnroll
    for (long i = b * BLOCK; i < least(b * BLOCK + BLOCK, n); ++i) sum += in[i];
    offset[b + 1] = offset[b] + sum;
  }
  for (long k = 0; k < blocks; ++k) {
    const long b = LOOP_ORDER == 0 ? k : blocks - 1 - k;
    Sum sum = offset[b];
#pragma GCC unroll kUnroll
    for (long i = b * BLOCK; i < least(b * BLOCK + BLOCK, n); ++i) out[i] = (float)(sum += in[i]);
  }
}

#elif ALGORITHM == 1
static void scan(const float* in, float* out, long n) {
  Sum before = 0;
#if LOOP_ORDER == 1
  for (long b = 0; b < n; b += BLOCK) {
    Sum sum = 0;
    for (long i = b; i < least(b + BLOCK, n); ++i) out[i] = (float)(sum += in[i]);
  }
#endif
  for (long b = 0; b < n; b += BLOCK) {
    const long end = least(b + BLOCK, n);
#if LOOP_ORDER == 0
    Sum sum = 0;
#pragma GCC unroll kUnroll
    for (long i = b; i < end; ++i) out[i] = (float)(sum += in[i]);
#endif
#pragma GCC unroll kUnroll
    for (long i = b; i < end; ++i) out[i] = (float)(out[i] + before);
    before = out[end - 1];
  }
}

#elif ALGORITHM == 2
typedef float Vec __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int Int __attribute__((vector_size(4 * LANES)));

static inline Vec shifted(Vec v, int by) {
  Int index;
  for (int l = 0; l < LANES; ++l) index[l] = l < by ? l : LANES + l - by;
  return __builtin_shuffle(Vec{}, v, index);
}

static void scan(const float* in, float* out, long n) {
  float before = 0;
  long i = 0;
  for (; i + BLOCK * LANES <= n; i += BLOCK * LANES) {
#if LOOP_ORDER == 0
#pragma GCC unroll kUnroll
    for (long k = 0; k < BLOCK; ++k) {
      Vec v = *(const Vec*)(in + i + k * LANES);
#pragma GCC unroll 4
      for (int by = 1; by < LANES; by *= 2) v += shifted(v, by);
      v += before;
      *(Vec*)(out + i + k * LANES) = v;
      before = v[LANES - 1];
    }
#else
    Vec block[BLOCK];
#pragma GCC unroll kUnroll
    for (long k = 0; k < BLOCK; ++k) {
      block[k] = *(const Vec*)(in + i + k * LANES);
#pragma GCC unroll 4
      for (int by = 1; by < LANES; by *= 2) block[k] += shifted(block[k], by);
    }
#pragma GCC unroll kUnroll
    for (long k = 0; k < BLOCK; ++k) {
      *(Vec*)(out + i + k * LANES) = block[k] + before;
      before += block[k][LANES - 1];
    }
#endif
  }
  for (; i < n; ++i) out[i] = before += in[i];
}

#elif ALGORITHM == 3
static void scan(const float* in, float* out, long n) {
  Sum before = 0;
  long i = 0;
  for (; i + BLOCK * LANES <= n; i += BLOCK * LANES) {
    Sum sum[LANES] = {};
#if LOOP_ORDER == 0
#pragma GCC unroll kUnroll
    for (long k = 0; k < BLOCK; ++k)
#pragma GCC unroll 16
      for (int l = 0; l < LANES; ++l) out[i + l * BLOCK + k] = (float)(sum[l] += in[i + l * BLOCK + k]);
    for (int l = 0; l < LANES; ++l) {
#pragma GCC unroll kUnroll
      for (long k = 0; k < BLOCK; ++k) out[i + l * BLOCK + k] = (float)(out[i + l * BLOCK + k] + before);
      before += sum[l];
    }
#else
    for (long k = 0; k < BLOCK; ++k)
#pragma GCC unroll 16
      for (int l = 0; l < LANES; ++l) sum[l] += in[i + l * BLOCK + k];
    for (int l = 0; l < LANES; ++l) {
      const Sum total = sum[l];
      sum[l] = before;
      before += total;
    }
#pragma GCC unroll kUnroll
    for (long k = 0; k < BLOCK; ++k)
#pragma GCC unroll 16
      for (int l = 0; l < LANES; ++l) out[i + l * BLOCK + k] = (float)(sum[l] += in[i + l * BLOCK + k]);
#endif
  }
  for (; i < n; ++i) out[i] = (float)(before += in[i]);
}

#else
static void scan(const float* in, float* out, long n) {
  Sum before = 0;
  for (long b = 0; b < n; b += BLOCK) {
    const long size = least(BLOCK, n - b);
    Sum whole = 0;
    for (long j = 0; j < size; ++j) {
      const long count = LOOP_ORDER == 0 ? j + 1 : size - j;
      Sum lanes[8] = {}, sum = 0;
#pragma GCC unroll kUnroll
      for (long k = 0; k + 8 <= count; k += 8)
        for (int l = 0; l < 8; ++l) lanes[l] += in[b + k + l];
      for (int l = 0; l < 8; ++l) sum += lanes[l];
      for (long k = count / 8 * 8; k < count; ++k) sum += in[b + k];
      out[b + count - 1] = (float)(sum + before);
      if (count == size) whole = sum;
    }
    before += whole;
  }
}
#endif

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  scan((const float*)inputs[0], (float*)outputs[0], c->N);
}
