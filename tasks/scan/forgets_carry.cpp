// Deliberately wrong: starts anew every 4096 elements.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* in = (const float*)inputs[0];
  float* out = (float*)outputs[0];
  float sum = 0;
  for (long i = 0; i < c->N; ++i) {
    if (i % 4096 == 0) sum = 0;
    out[i] = sum += in[i];
  }
}
