// ALGORITHM 0: loops over the 27 neighbours; 1: neighbours grouped by distance; 2: the same by vectors, ROW_BLOCK rows;
// 3: sums over columns of neighbours shared along x; 4: one sweep over the field for every neighbour.
#include <string.h>

#if VECTOR_WIDTH == 1
typedef float Vec;
#else
typedef float Vec __attribute__((vector_size(4 * VECTOR_WIDTH), aligned(4), may_alias));
#endif
#if NO_ALIAS
#define POINTER float* __restrict
#else
#define POINTER float*
#endif
#if DOUBLE_SUM
typedef double Sum;
#else
typedef float Sum;
#endif
constexpr int kUnroll = UNROLL;
static inline long least(long a, long b) { return a < b ? a : b; }

struct Shape {
  long Z, Y, X;
};
#define FOR(i, n) for (long i = 1; i < (n) - 1; ++i)

#if ALGORITHM == 2
typedef Vec Value;
#define AT(o) (*(const Vec*)(p + (o)))
#else
typedef Sum Value;
#define AT(o) ((Sum)p[o])
#endif
#define PAIR(o) (AT(o) + AT(-(o)))

#if ALGORITHM == 0
static inline Value cell(const float* p, const float* w, long row, long plane) {
  Value sum = 0;
  for (long dz = -1; dz <= 1; ++dz)
    for (long dy = -1; dy <= 1; ++dy)
#pragma GCC unroll kUnroll
      for (long dx = -1; dx <= 1; ++dx) sum += w[dz * dz + dy * dy + dx * dx] * AT(dz * plane + dy * row + dx);
  return sum;
}
#else
static inline Value cell(const float* p, const float* w, long row, long plane) {
  const Value faces = PAIR(1) + PAIR(row) + PAIR(plane);
  const Value edges =
      PAIR(row + 1) + PAIR(row - 1) + PAIR(plane + 1) + PAIR(plane - 1) + PAIR(plane + row) + PAIR(plane - row);
  const Value corners = PAIR(plane + row + 1) + PAIR(plane + row - 1) + PAIR(plane - row + 1) + PAIR(plane - row - 1);
  return w[0] * AT(0) + w[1] * faces + w[2] * edges + w[3] * corners;
}
#endif

static void inside(const Shape s, const POINTER in, const POINTER w, POINTER out) {
  const long row = s.X, plane = s.X * s.Y;
#if FLAT_INDEX
#pragma GCC unroll kUnroll
  for (long e = 0; e < (s.Z - 2) * (s.Y - 2) * (s.X - 2); ++e) {
    const long x = 1 + e % (s.X - 2), y = 1 + e / (s.X - 2) % (s.Y - 2), z = 1 + e / (s.X - 2) / (s.Y - 2);
    out[z * plane + y * row + x] = (float)cell(in + z * plane + y * row + x, w, row, plane);
  }
#elif ALGORITHM <= 1
#if LOOP_ORDER == 0
  FOR(z, s.Z)
  FOR(y, s.Y)
#pragma GCC unroll kUnroll
      FOR(x, s.X)
#elif LOOP_ORDER == 1
  FOR(z, s.Z)
  FOR(x, s.X)
#pragma GCC unroll kUnroll
      FOR(y, s.Y)
#else
  FOR(x, s.X)
  FOR(y, s.Y)
#pragma GCC unroll kUnroll
      FOR(z, s.Z)
#endif
          out[z * plane + y * row + x] = (float)cell(in + z * plane + y * row + x, w, row, plane);
#elif ALGORITHM == 2
  auto rows = [&](long z, long y0) {
#pragma GCC unroll kUnroll
    for (long start = 1; start < s.X - 1; start += VECTOR_WIDTH)
#pragma GCC unroll 4
      for (long r = 0; r < ROW_BLOCK; ++r) {
        const long o = z * plane + least(y0 + r, s.Y - 2) * row + least(start, s.X - 1 - VECTOR_WIDTH);
        *(Vec*)(out + o) = cell(in + o, w, row, plane);
      }
  };
#if LOOP_ORDER == 0
  FOR(z, s.Z) for (long y = 1; y < s.Y - 1; y += ROW_BLOCK) rows(z, y);
#else
  for (long y = 1; y < s.Y - 1; y += ROW_BLOCK) FOR(z, s.Z) rows(z, y);
#endif
#elif ALGORITHM == 3
  Sum* centre = (Sum*)__builtin_alloca(3 * ROW_BLOCK * row * sizeof(Sum));
  Sum *sides = centre + ROW_BLOCK * row, *diagonals = sides + ROW_BLOCK * row;
  auto rows = [&](long z, long y0) {
    const long count = least(ROW_BLOCK, s.Y - 1 - y0) * row;
    const float* p = in + z * plane + y0 * row;
    for (long x = 0; x < count; ++x) {
      centre[x] = p[x];
      sides[x] = (Sum)p[x - row] + p[x + row] + p[x - plane] + p[x + plane];
      diagonals[x] = (Sum)p[x - plane - row] + p[x - plane + row] + p[x + plane - row] + p[x + plane + row];
    }
    for (long r = 0; r < count; r += row)
#pragma GCC unroll kUnroll
      for (long x = r + 1; x < r + row - 1; ++x)
        out[z * plane + y0 * row + x] =
            (float)(w[0] * centre[x] + w[1] * (sides[x] + centre[x - 1] + centre[x + 1]) +
                    w[2] * (diagonals[x] + sides[x - 1] + sides[x + 1]) + w[3] * (diagonals[x - 1] + diagonals[x + 1]));
  };
#if LOOP_ORDER == 0
  FOR(z, s.Z) for (long y = 1; y < s.Y - 1; y += ROW_BLOCK) rows(z, y);
#else
  for (long y = 1; y < s.Y - 1; y += ROW_BLOCK) FOR(z, s.Z) rows(z, y);
#endif
#else
  Sum* sum = (Sum*)__builtin_alloca(s.Z * plane * sizeof(Sum));
  for (long e = 0; e < s.Z * plane; ++e) sum[e] = 0;
  for (long d = 0; d < 27; ++d) {
    const long dz = d / 9 - 1, dy = d / 3 % 3 - 1, dx = d % 3 - 1, o = dz * plane + dy * row + dx;
    const float weight = w[dz * dz + dy * dy + dx * dx];
#if LOOP_ORDER == 0
    FOR(z, s.Z)
    FOR(y, s.Y)
#pragma GCC unroll kUnroll
        FOR(x, s.X)
#else
    FOR(y, s.Y)
    FOR(x, s.X)
#pragma GCC unroll kUnroll
        FOR(z, s.Z)
#endif
            sum[z * plane + y * row + x] += (Sum)weight * in[z * plane + y * row + x + o];
  }
  FOR(z, s.Z) FOR(y, s.Y) FOR(x, s.X) out[z * plane + y * row + x] = (float)sum[z * plane + y * row + x];
#endif
}

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  float *in = (float*)inputs[0], *out = (float*)outputs[0];
  const long plane = c->Y * c->X;
  memcpy(out, in, plane * sizeof(float));
  memcpy(out + (c->Z - 1) * plane, in + (c->Z - 1) * plane, plane * sizeof(float));
  for (long z = 1; z < c->Z - 1; ++z) {
    memcpy(out + z * plane, in + z * plane, c->X * sizeof(float));
    memcpy(out + (z + 1) * plane - c->X, in + (z + 1) * plane - c->X, c->X * sizeof(float));
    for (long y = 1; y < c->Y - 1; ++y)
      for (long x = 0; x < c->X; x += c->X - 1) out[z * plane + y * c->X + x] = in[z * plane + y * c->X + x];
  }
  inside({c->Z, c->Y, c->X}, in, (float*)inputs[1], out);
}
