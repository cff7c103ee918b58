extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* gain = (const float*)inputs[1];
  const float* bias = (const float*)inputs[2];
  const long n = c->COLUMNS;
  for (long r = 0; r < c->ROWS; ++r) {
    const float* row = (const float*)inputs[0] + r * n;
    real* out = (real*)outputs[0] + r * n;
    real mean = 0, variance = 0;
    for (long j = 0; j < n; ++j) mean += row[j];
    mean /= n;
    for (long j = 0; j < n; ++j) variance += (row[j] - mean) * (row[j] - mean);
    variance /= n;
    for (long j = 0; j < n; ++j) out[j] = (row[j] - mean) / sqrt(variance + 1e-5) * gain[j] + bias[j];
  }
}
