#include <torch/csrc/autograd/custom_function.h>

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros.h>

#include "model/fused_torch.h"
#include "model/parallel.h"

namespace kc::fused_cpu {
namespace {

constexpr std::int64_t kNormRows = 256;  // rows of one task; also of one partial weight gradient

template <class T>
void norm_forward(const at::Tensor& x, const at::Tensor& w, at::Tensor& y, at::Tensor& inverse, double eps) {
  using C = ComputeType<T>;
  const std::int64_t width = x.size(1);
  parallel_rows(x.size(0), kNormRows, [&](std::int64_t from, std::int64_t to) {
    cpu_kernels<T>().rms_norm(read_pointer<T>(x) + from * width, read_pointer<T>(w), write_pointer<T>(y) + from * width,
                              write_pointer<C>(inverse) + from, to - from, width, eps);
  });
}

template <class T>
void norm_backward(const std::vector<at::Tensor>& saved, const at::Tensor& dy, at::Tensor& dx, at::Tensor& partial_dw) {
  using C = ComputeType<T>;
  const std::int64_t width = dy.size(1);
  parallel_rows(dy.size(0), kNormRows, [&](std::int64_t from, std::int64_t to) {
    cpu_kernels<T>().rms_norm_backward(read_pointer<T>(saved[0]) + from * width, read_pointer<T>(saved[1]),
                                       read_pointer<C>(saved[2]) + from, read_pointer<T>(dy) + from * width,
                                       write_pointer<T>(dx) + from * width,
                                       write_pointer<C>(partial_dw) + from / kNormRows * width, to - from, width);
  });
}

struct NormFunction : torch::autograd::Function<NormFunction> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight,
                            double eps) {
    at::Tensor y = at::empty_like(x);
    at::Tensor inverse = at::empty({x.size(0)}, x.options().dtype(attention_type(x)));
    by_type(x.scalar_type(), [&](auto t) { norm_forward<typename decltype(t)::Type>(x, weight, y, inverse, eps); });
    ctx->save_for_backward({x, weight, inverse});
    return y;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 torch::autograd::variable_list grads) {
    const std::vector<at::Tensor> saved = ctx->get_saved_variables();
    const at::Tensor dy = grads[0].contiguous();
    at::Tensor dx = at::empty_like(dy);
    at::Tensor partial = at::zeros({(dy.size(0) + kNormRows - 1) / kNormRows, dy.size(1)}, saved[2].options());
    by_type(dy.scalar_type(), [&](auto t) { norm_backward<typename decltype(t)::Type>(saved, dy, dx, partial); });
    return {dx, partial.sum(0).to(saved[1].scalar_type()), at::Tensor()};
  }
};

}  // namespace

at::Tensor rms_norm(const at::Tensor& x_NH, const at::Tensor& weight_H, double eps) {
  return NormFunction::apply(x_NH.contiguous(), weight_H, eps);
}

}  // namespace kc::fused_cpu
