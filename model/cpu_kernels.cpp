#include "model/cpu_kernels.h"

namespace kc {
namespace kernels_base {
template <class T>
CpuKernels<T> make_kernels();
template <class C>
AttentionKernels<C> make_attention_kernels();
}  // namespace kernels_base
namespace kernels_avx2 {
template <class T>
CpuKernels<T> make_kernels();
template <class C>
AttentionKernels<C> make_attention_kernels();
}  // namespace kernels_avx2
namespace kernels_avx512 {
template <class T>
CpuKernels<T> make_kernels();
template <class C>
AttentionKernels<C> make_attention_kernels();
}  // namespace kernels_avx512

namespace {

#ifdef KC_X86_KERNELS
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

template <class T>
CpuKernels<T> choose() {
#ifdef KC_X86_KERNELS
  if (has_avx512()) return kernels_avx512::make_kernels<T>();
  if (has_avx2()) return kernels_avx2::make_kernels<T>();
#endif
  return kernels_base::make_kernels<T>();
}

template <class C>
AttentionKernels<C> choose_attention() {
#ifdef KC_X86_KERNELS
  if (has_avx512()) return kernels_avx512::make_attention_kernels<C>();
  if (has_avx2()) return kernels_avx2::make_attention_kernels<C>();
#endif
  return kernels_base::make_attention_kernels<C>();
}

}  // namespace

template <class T>
const CpuKernels<T>& cpu_kernels() {
  static const CpuKernels<T> kernels = choose<T>();
  return kernels;
}

template <class C>
const AttentionKernels<C>& attention_kernels() {
  static const AttentionKernels<C> kernels = choose_attention<C>();
  return kernels;
}

template const CpuKernels<float>& cpu_kernels<float>();
template const CpuKernels<double>& cpu_kernels<double>();
template const CpuKernels<Bf16>& cpu_kernels<Bf16>();
template const AttentionKernels<float>& attention_kernels<float>();
template const AttentionKernels<double>& attention_kernels<double>();

}  // namespace kc
