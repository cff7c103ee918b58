// Halves a row again and again and merges mean and variance of the halves.
#include <math.h>

struct Moments {
  float mean, squares;
};

static Moments moments(const float* p, long n) {
  if (n == 1) return {*p, 0};
  const long k = n / 2;
  const Moments a = moments(p, k), b = moments(p + k, n - k);
  const float d = b.mean - a.mean, w = (float)(n - k) / n;
  return {a.mean + d * w, a.squares + b.squares + d * d * k * w};
}

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* gain = (const float*)inputs[1];
  const float* bias = (const float*)inputs[2];
  const long n = c->COLUMNS;
  for (long r = 0; r < c->ROWS; ++r) {
    const float* row = (const float*)inputs[0] + r * n;
    float* out = (float*)outputs[0] + r * n;
    const Moments m = moments(row, n);
    const float factor = 1 / sqrtf(m.squares / n + 1e-5f);
    for (long j = 0; j < n; ++j) out[j] = (row[j] - m.mean) * factor * gain[j] + bias[j];
  }
}
