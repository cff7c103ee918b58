// Counts the keys below every bound and takes differences.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const int* keys = (const int*)inputs[0];
  int* counts = (int*)outputs[0];
  int below = 0;
  for (long b = 0; b < c->BINS; ++b) {
    const int bound = (int)((b + 1) * c->WIDTH);
    int count = 0;
    for (long k = 0; k < c->KEYS; ++k)
      if (keys[k] < bound) ++count;
    counts[b] = count - below;
    below = count;
  }
}
