extern "C" void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* field = (const float*)inputs[0];
  const float* weights = (const float*)inputs[1];
  real* result = (real*)outputs[0];
  long offsets[27];
  float weight_of[27];
  for (long d = 0; d < 27; ++d) {
    const long dz = d / 9 - 1, dy = d / 3 % 3 - 1, dx = d % 3 - 1;
    offsets[d] = (dz * c->Y + dy) * c->X + dx;
    weight_of[d] = weights[dz * dz + dy * dy + dx * dx];
  }
  for (long z = 0; z < c->Z; ++z) {
    for (long y = 0; y < c->Y; ++y) {
      for (long x = 0; x < c->X; ++x) {
        const float* at = field + (z * c->Y + y) * c->X + x;
        real sum = *at;
        if (z > 0 && y > 0 && x > 0 && z < c->Z - 1 && y < c->Y - 1 && x < c->X - 1) {
          sum = 0;
          for (long d = 0; d < 27; ++d) sum += real(weight_of[d]) * at[offsets[d]];
        }
        *result++ = sum;
      }
    }
  }
}
