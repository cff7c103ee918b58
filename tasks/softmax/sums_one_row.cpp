// Deliberately wrong: the sum runs on from row to row.
#include <math.h>

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const long n = c->COLUMNS;
  float sum = 0;
  for (long r = 0; r < c->ROWS; ++r) {
    const float* row = (const float*)inputs[0] + r * n;
    float* out = (float*)outputs[0] + r * n;

    for (long j = 0; j < n; ++j) sum += out[j] = expf(row[j]);
    for (long j = 0; j < n; ++j) out[j] /= sum;
  }
}
