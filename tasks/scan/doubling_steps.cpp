// Adds to every element the one that lies 1, 2, 4, ... places before, from the end so that it works in place.
#include <string.h>

extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  float* out = (float*)outputs[0];
  memcpy(out, inputs[0], c->N * sizeof(float));
  for (long by = 1; by < c->N; by *= 2)
    for (long i = c->N - 1; i >= by; --i) out[i] += out[i - by];
}
