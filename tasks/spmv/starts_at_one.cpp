// Deliberately wrong: takes values for columns, which points far outside the vector.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const int* offsets = (const int*)inputs[0];
  const int* columns = (const int*)inputs[1];
  const float* values = (const float*)inputs[2];
  const float* x = (const float*)inputs[3];
  for (long r = 0; r < c->ROWS; ++r) {
    float sum = 0;
    for (long k = offsets[r]; k < offsets[r + 1]; ++k) sum += values[k] * x[(long)((const int*)values)[k] * 64];
    ((float*)outputs[0])[r] = sum;
  }
}
