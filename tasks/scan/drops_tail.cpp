// Deliberately wrong: forgets the elements beyond the last whole sixteen.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* in = (const float*)inputs[0];
  float* out = (float*)outputs[0];
  float sum = 0;
  for (long i = 0; i < c->N / 16 * 16; ++i) {
    out[i] = sum += in[i];
  }
}
