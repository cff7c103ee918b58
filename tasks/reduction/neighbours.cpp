// Adds neighbours in place in a copy, halving it each time.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* values = (const float*)inputs[0];
  static thread_local float copy[1 << 16];
  for (long r = 0; r < c->ROWS; ++r) {
    long n = c->COLUMNS;
    for (long j = 0; j < n; ++j) copy[j] = values[r * n + j];
    for (; n > 1; n = (n + 1) / 2)
      for (long j = 0; j < (n + 1) / 2; ++j) copy[j] = 2 * j + 1 < n ? copy[2 * j] + copy[2 * j + 1] : copy[2 * j];
    ((float*)outputs[0])[r] = copy[0];
  }
}
