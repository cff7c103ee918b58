extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* values = (const float*)inputs[0];
  real* sums = (real*)outputs[0];
  for (long r = 0; r < c->ROWS; ++r) {
    real sum = 0;
    for (long j = 0; j < c->COLUMNS; ++j) sum += values[r * c->COLUMNS + j];
    sums[r] = sum;
  }
}
