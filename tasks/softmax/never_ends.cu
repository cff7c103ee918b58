#pragma kernelcast launch softmax grid(1) block(1)

extern "C" __global__ void softmax(Case c, const float* logits, float* result) {
  volatile float* flag = result;
  *flag = 0;
  while (*flag == 0 || logits[0] < -1e30f) *flag = 0;
}
