#define KC_KERNEL_SET kernels_avx512
#include "model/cpu_kernels_impl.h"
