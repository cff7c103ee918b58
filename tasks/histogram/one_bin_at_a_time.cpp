// Compares all keys with the bounds of one bin after the other.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const int* keys = (const int*)inputs[0];
  int* counts = (int*)outputs[0];
  for (long b = 0; b < c->BINS; ++b) {
    const unsigned low = (unsigned)(b * c->WIDTH), width = (unsigned)c->WIDTH;
    int count = 0;
    for (long k = 0; k < c->KEYS; ++k) count += (unsigned)keys[k] - low < width;
    counts[b] = count;
  }
}
