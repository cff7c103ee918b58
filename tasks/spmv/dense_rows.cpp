// Unpacks every row into a dense one and multiplies that.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const int* offsets = (const int*)inputs[0];
  const int* columns = (const int*)inputs[1];
  const float* values = (const float*)inputs[2];
  const float* x = (const float*)inputs[3];
  float row[8192] = {};
  for (long r = 0; r < c->ROWS; ++r) {
    for (int k = offsets[r]; k < offsets[r + 1]; ++k) row[columns[k]] += values[k];
    float lanes[16] = {}, sum = 0;
    for (long j = 0; j < c->COLUMNS / 16 * 16; ++j) lanes[j % 16] += row[j] * x[j];
    for (long j = c->COLUMNS / 16 * 16; j < c->COLUMNS; ++j) sum += row[j] * x[j];
    for (long l = 0; l < 16; ++l) sum += lanes[l];
    ((float*)outputs[0])[r] = sum;
    for (int k = offsets[r]; k < offsets[r + 1]; ++k) row[columns[k]] = 0;
  }
}
