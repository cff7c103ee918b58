// Deliberately wrong: waits for a value that nobody writes.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const volatile float* row = (const volatile float*)inputs[0];
  volatile float* out = (volatile float*)outputs[0];
  out[0] = 0;
  while (out[0] == 0) out[c->COLUMNS - 1] = row[0];
}
