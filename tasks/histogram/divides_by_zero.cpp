// Deliberately wrong: divides by a width that has become zero.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const int* keys = (const int*)inputs[0];
  int* counts = (int*)outputs[0];
  const long width = c->WIDTH / c->BINS;
  for (long b = 0; b < c->BINS; ++b) counts[b] = 0;
  for (long k = 0; k < c->KEYS; ++k) ++counts[keys[k] / width % c->BINS];
}
