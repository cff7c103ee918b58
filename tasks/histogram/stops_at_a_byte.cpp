// Deliberately wrong: counts in bytes and stops at 127.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const int* keys = (const int*)inputs[0];
  int* counts = (int*)outputs[0];
  unsigned char small[4096] = {};
  for (long k = 0; k < c->KEYS; ++k) {
    const long bin = keys[k] / c->WIDTH;
    if (small[bin] < 127) ++small[bin];
  }
  for (long b = 0; b < c->BINS; ++b) counts[b] = small[b];
}
