// Deliberately wrong: moves whole tiles of 16 x 16 only.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* in = (const float*)inputs[0];
  float* out = (float*)outputs[0];
  for (long i0 = 0; i0 + 16 <= c->ROWS; i0 += 16)
    for (long j0 = 0; j0 + 16 <= c->COLUMNS; j0 += 16)
      for (long i = i0; i < i0 + 16; ++i)
        for (long j = j0; j < j0 + 16; ++j) out[j * c->ROWS + i] = in[i * c->COLUMNS + j];
}
