extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  for (long r = 0; r < c->ROWS; ++r) {
    const float* row = (const float*)inputs[0] + r * c->COLUMNS;
    real* out = (real*)outputs[0] + r * c->COLUMNS;
    real most = row[0], sum = 0;
    for (long j = 1; j < c->COLUMNS; ++j) most = fmax(most, row[j]);
    for (long j = 0; j < c->COLUMNS; ++j) sum += out[j] = exp(row[j] - most);
    for (long j = 0; j < c->COLUMNS; ++j) out[j] /= sum;
  }
}
