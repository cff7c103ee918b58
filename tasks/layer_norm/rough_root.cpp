// Deliberately wrong: a half-precision square root.
#include <math.h>

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* gain = (const float*)inputs[1];
  const float* bias = (const float*)inputs[2];
  const long n = c->COLUMNS, used = n;
  for (long r = 0; r < c->ROWS; ++r) {
    const float* row = (const float*)inputs[0] + r * n;
    float* out = (float*)outputs[0] + r * n;
    float mean = 0, squares = 0;
    for (long j = 0; j < used; ++j) mean += row[j];
    mean /= used;
    for (long j = 0; j < used; ++j) squares += (row[j] - mean) * (row[j] - mean);
    const float deviation = (float)(_Float16)sqrtf(squares / used + 1e-5f);
    for (long j = 0; j < used; ++j) out[j] = (row[j] - mean) / deviation * gain[j] + bias[j];
  }
}
