// Writes down the row of every entry first, then adds entry by entry from the last to the first.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const int* offsets = (const int*)inputs[0];
  const int* columns = (const int*)inputs[1];
  const float* values = (const float*)inputs[2];
  const float* x = (const float*)inputs[3];
  float* y = (float*)outputs[0];
  int* row = (int*)__builtin_alloca(c->NONZEROS * sizeof(int));
  for (long r = 0; r < c->ROWS; ++r) {
    y[r] = 0;
    for (int k = offsets[r]; k < offsets[r + 1]; ++k) row[k] = (int)r;
  }
  for (long k = c->NONZEROS - 1; k >= 0; --k) y[row[k]] += values[k] * x[columns[k]];
}
