// ALGORITHM 0: key by key; 1: bins of a BLOCK of keys first, then counting; 2: sorts the bins of each BLOCK by their
// lowest bits before counting; 3: counts single values first and adds up intervals at the end.
// BINNING 0: 64-bit division; 1: 32-bit division; 2: division in double precision; 3: multiplication by a fixed-point
// reciprocal; 4: table of bins; 5: binary search.
#include <string.h>

#if COUNTER_BITS == 16
typedef unsigned short Counter;
#elif COUNTER_BITS == 32
typedef unsigned Counter;
#else
typedef unsigned long long Counter;
#endif
constexpr int kUnroll = UNROLL;
static inline long least(long a, long b) { return a < b ? a : b; }

struct Binning {
  long width, bins;
  unsigned long long reciprocal;
  unsigned char* table;

  inline unsigned operator()(int key) const {
#if BINNING == 0
    return (unsigned)(key / width);
#elif BINNING == 1
    return (unsigned)key / (unsigned)width;
#elif BINNING == 2
    return (unsigned)(int)((double)key / (double)width);
#elif BINNING == 3
    return (unsigned)((unsigned)key * reciprocal >> 32);
#elif BINNING == 4
    return table[key];
#else
    unsigned low = 0, high = (unsigned)bins;
    while (high - low > 1) {
      const unsigned middle = (low + high) / 2;
      if (key < (long)middle * width)
        high = middle;
      else
        low = middle;
    }
    return low;
#endif
  }
};

#if ALGORITHM == 0
static void count(const Binning& bin, const int* keys, long n, Counter* counts) {
#pragma GCC unroll kUnroll
  for (long k = 0; k < n; ++k) ++counts[k % SUB_HISTOGRAMS * bin.bins + bin(keys[k])];
}

#elif ALGORITHM == 1
static void count(const Binning& bin, const int* keys, long n, Counter* counts) {
  int found[BLOCK];
  for (long k0 = 0; k0 < n; k0 += BLOCK) {
    const long m = least(BLOCK, n - k0);
#pragma GCC unroll kUnroll
    for (long k = 0; k < m; ++k) found[k] = (int)bin(keys[k0 + k]);
#pragma GCC unroll kUnroll
    for (long k = 0; k < m; ++k) ++counts[k % SUB_HISTOGRAMS * bin.bins + found[k]];
  }
}

#elif ALGORITHM == 2
static void count(const Binning& bin, const int* keys, long n, Counter* counts) {
  unsigned short found[BLOCK], sorted[BLOCK];
  for (long k0 = 0; k0 < n; k0 += BLOCK) {
    const long m = least(BLOCK, n - k0);
    int start[17] = {};
#pragma GCC unroll kUnroll
    for (long k = 0; k < m; ++k) ++start[(found[k] = (unsigned short)bin(keys[k0 + k])) % 16 + 1];
    for (int d = 0; d < 16; ++d) start[d + 1] += start[d];
    for (long k = 0; k < m; ++k) sorted[start[found[k] % 16]++] = found[k];
    for (long k = 0; k < m; ++k) ++counts[k % SUB_HISTOGRAMS * bin.bins + sorted[k]];
  }
}

#else
static void count(const Binning& bin, const int* keys, long n, Counter* counts) {
  const long values = bin.bins * bin.width;
  Counter* single = (Counter*)__builtin_alloca(SUB_HISTOGRAMS * values * sizeof(Counter));
  memset(single, 0, SUB_HISTOGRAMS * values * sizeof(Counter));
#pragma GCC unroll kUnroll
  for (long k = 0; k < n; ++k) ++single[k % SUB_HISTOGRAMS * values + keys[k]];
  for (long s = 0; s < SUB_HISTOGRAMS; ++s)
#pragma GCC unroll kUnroll
    for (long v = 0; v < values; ++v) counts[bin((int)v)] += single[s * values + v];
}
#endif

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  int* result = (int*)outputs[0];
  Binning bin = {c->WIDTH, c->BINS, (1ull << 32) / c->WIDTH + 1, nullptr};
#if BINNING == 4
  bin.table = (unsigned char*)__builtin_alloca(c->BINS * c->WIDTH);
  for (long b = 0; b < c->BINS; ++b) memset(bin.table + b * c->WIDTH, (int)b, c->WIDTH);
#endif
  Counter* counts = (Counter*)__builtin_alloca(SUB_HISTOGRAMS * c->BINS * sizeof(Counter));
  memset(counts, 0, SUB_HISTOGRAMS * c->BINS * sizeof(Counter));
  count(bin, (const int*)inputs[0], c->KEYS, counts);
  for (long b = 0; b < c->BINS; ++b) {
    int sum = 0;
    for (long s = 0; s < SUB_HISTOGRAMS; ++s) sum += (int)counts[s * c->BINS + b];
    result[b] = sum;
  }
}
