// Deliberately wrong: counts eight keys at a time and forgets the rest.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const int* keys = (const int*)inputs[0];
  int* counts = (int*)outputs[0];
  for (long b = 0; b < c->BINS; ++b) counts[b] = 0;
  for (long k = 0; k < c->KEYS / 8 * 8; ++k) ++counts[keys[k] / c->WIDTH];
}
