extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  double sum = 0;
  for (long i = 0; i < c->N; ++i) ((double*)outputs[0])[i] = sum += ((const float*)inputs[0])[i];
}
