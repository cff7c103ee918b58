#include "model/gemm.h"

#ifdef KC_TORCH_HAS_BLAS

extern "C" {  // NOLINTBEGIN(readability-identifier-naming): the names are BLAS's
void sgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const float* alpha,
            const float* a, const int* lda, const float* b, const int* ldb, const float* beta, float* c,
            const int* ldc);
void dgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc);
}  // NOLINTEND(readability-identifier-naming)

namespace kc {
namespace {

// BLAS is column-major: the transposed product out' = b' a' is the row-major one.
template <class C, class Gemm>
void column_major(Gemm* blas, const GemmSize& size, C alpha, const MatrixView<const C>& a, const MatrixView<const C>& b,
                  C beta, const MatrixView<C>& out) {
  const char ta = a.transposed ? 'T' : 'N';
  const char tb = b.transposed ? 'T' : 'N';
  const int m = static_cast<int>(size.m);
  const int n = static_cast<int>(size.n);
  const int k = static_cast<int>(size.k);
  const int lda = static_cast<int>(a.stride);
  const int ldb = static_cast<int>(b.stride);
  const int ldc = static_cast<int>(out.stride);
  blas(&tb, &ta, &n, &m, &k, &alpha, b.data, &ldb, a.data, &lda, &beta, out.data, &ldc);
}

}  // namespace

void gemm(const GemmSize& size, float alpha, MatrixView<const float> a, MatrixView<const float> b, float beta,
          MatrixView<float> out) {
  column_major(sgemm_, size, alpha, a, b, beta, out);
}
void gemm(const GemmSize& size, double alpha, MatrixView<const double> a, MatrixView<const double> b, double beta,
          MatrixView<double> out) {
  column_major(dgemm_, size, alpha, a, b, beta, out);
}

}  // namespace kc

#else  // a LibTorch that keeps its BLAS to itself

#include <ATen/core/Tensor.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/from_blob.h>

namespace kc {
namespace {

template <class C>
at::Tensor view(const MatrixView<C>& matrix, std::int64_t rows, std::int64_t columns) {
  const auto type = c10::CppTypeToScalarType<std::remove_const_t<C> >::value;
  auto* data = const_cast<std::remove_const_t<C>*>(matrix.data);
  if (matrix.transposed) return at::from_blob(data, {columns, rows}, {matrix.stride, 1}, type).t();
  return at::from_blob(data, {rows, columns}, {matrix.stride, 1}, type);
}

template <class C>
void by_tensors(const GemmSize& size, C alpha, const MatrixView<const C>& a, const MatrixView<const C>& b, C beta,
                const MatrixView<C>& out) {
  at::Tensor target = view(out, size.m, size.n);
  at::addmm_out(target, target, view(a, size.m, size.k), view(b, size.k, size.n), beta, alpha);
}

}  // namespace

void gemm(const GemmSize& size, float alpha, MatrixView<const float> a, MatrixView<const float> b, float beta,
          MatrixView<float> out) {
  by_tensors(size, alpha, a, b, beta, out);
}
void gemm(const GemmSize& size, double alpha, MatrixView<const double> a, MatrixView<const double> b, double beta,
          MatrixView<double> out) {
  by_tensors(size, alpha, a, b, beta, out);
}

}  // namespace kc

#endif
