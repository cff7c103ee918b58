// One loop over results and one over terms; every coordinate comes from a division.
extern "C" void run(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* image = (const float*)inputs[0];
  const float* weights = (const float*)inputs[1];
  float* result = (float*)outputs[0];
  const int side = (int)c->SIDE, rows = (int)c->HEIGHT - side + 1, columns = (int)c->WIDTH - side + 1;
  const int terms = (int)c->CHANNELS * side * side;
  for (int e = 0; e < c->FILTERS * rows * columns; ++e) {
    const int x = e % columns, y = e / columns % rows, f = e / columns / rows;
    float sum = 0;
    for (int t = 0; t < terms; ++t) {
      const int u = t % side, v = t / side % side, p = t / side / side;
      sum += image[(p * c->HEIGHT + y + v) * c->WIDTH + x + u] * weights[f * terms + t];
    }
    result[e] = sum;
  }
}
