extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  const int* offsets = (const int*)inputs[0];
  const int* columns = (const int*)inputs[1];
  const float* values = (const float*)inputs[2];
  const float* x = (const float*)inputs[3];
  for (long r = 0; r < c->ROWS; ++r) {
    real sum = 0;
    for (int k = offsets[r]; k < offsets[r + 1]; ++k) sum += real(values[k]) * x[columns[k]];
    ((real*)outputs[0])[r] = sum;
  }
}
