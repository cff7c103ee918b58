extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  real sum = 0;
  for (long i = 0; i < c->N; ++i) ((real*)outputs[0])[i] = sum += ((const float*)inputs[0])[i];
}
