// Halves the longer side until a block is at most 8 x 8.
static void part(const float* in, float* out, long rows, long columns, long M, long N) {
  if (rows <= 8 && columns <= 8) {
    for (long i = 0; i < rows; ++i)
      for (long j = 0; j < columns; ++j) out[j * M + i] = in[i * N + j];
  } else if (rows >= columns) {
    part(in, out, rows / 2, columns, M, N);
    part(in + rows / 2 * N, out + rows / 2, rows - rows / 2, columns, M, N);
  } else {
    part(in, out, rows, columns / 2, M, N);
    part(in + columns / 2, out + columns / 2 * M, rows, columns - columns / 2, M, N);
  }
}

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  part((const float*)inputs[0], (float*)outputs[0], c->ROWS, c->COLUMNS, c->ROWS, c->COLUMNS);
}
