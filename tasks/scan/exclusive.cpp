// Deliberately wrong: leaves an element out of its own sum.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* in = (const float*)inputs[0];
  float* out = (float*)outputs[0];
  float sum = 0;
  for (long i = 0; i < c->N; ++i) {
    out[i] = sum;
    sum += in[i];
  }
}
