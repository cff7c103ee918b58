// Powers of two in double precision, summed by a binary tree.
#include <math.h>

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const long n = c->COLUMNS;
  double table[1024];
  for (long r = 0; r < c->ROWS; ++r) {
    const float* row = (const float*)inputs[0] + r * n;
    float* out = (float*)outputs[0] + r * n;
    double sum = 0;
    for (long j = 0; j < n; ++j) table[j] = exp2((double)row[j] * 1.4426950408889634);
    for (long width = 1; width < n; width *= 2)
      for (long j = 0; j + width < n; j += 2 * width) table[j] += table[j + width];
    sum = table[0];
    for (long j = 0; j < n; ++j) out[j] = (float)(exp2((double)row[j] * 1.4426950408889634) / sum);
  }
}
