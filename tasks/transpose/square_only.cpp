// Deliberately wrong: takes the row length of the result for that of the input.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* in = (const float*)inputs[0];
  float* out = (float*)outputs[0];
  for (long e = 0; e < c->ROWS * c->COLUMNS; ++e) out[e] = 0;
  for (long i = 0; i < c->ROWS; ++i)
    for (long j = 0; j < c->ROWS && j < c->COLUMNS; ++j) out[j * c->ROWS + i] = in[i * c->ROWS + j];
}
