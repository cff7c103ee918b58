#pragma once
// Matrix products on plain memory by the BLAS inside LibTorch, cheap enough for the small blocks of attention. Uses one
// thread when called from a parallel region.
#include <cstdint>

namespace kc {

template <class C>
struct MatrixView {
  C* data;
  std::int64_t stride;  // between rows
  bool transposed = false;
};

// out [m, n] = alpha * a [m, k] b [k, n] + beta * out, all row-major (before any transposition).
struct GemmSize {
  std::int64_t m, n, k;
};
void gemm(const GemmSize& size, float alpha, MatrixView<const float> a, MatrixView<const float> b, float beta,
          MatrixView<float> out);
void gemm(const GemmSize& size, double alpha, MatrixView<const double> a, MatrixView<const double> b, double beta,
          MatrixView<double> out);

}  // namespace kc
