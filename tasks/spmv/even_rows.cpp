// Deliberately wrong: takes entries in pairs and forgets the last of an odd row.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const int* offsets = (const int*)inputs[0];
  const int* columns = (const int*)inputs[1];
  const float* values = (const float*)inputs[2];
  const float* x = (const float*)inputs[3];
  for (long r = 0; r < c->ROWS; ++r) {
    float sum = 0;
    for (long k = offsets[r]; k < offsets[r] + (offsets[r + 1] - offsets[r]) / 2 * 2; ++k)
      sum += values[k] * x[columns[k]];
    ((float*)outputs[0])[r] = sum;
  }
}
