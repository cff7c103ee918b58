extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  for (long i = 0; i < c->ROWS; ++i)
    for (long j = 0; j < c->COLUMNS; ++j)
      ((real*)outputs[0])[j * c->ROWS + i] = ((const float*)inputs[0])[i * c->COLUMNS + j];
}
