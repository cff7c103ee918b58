#define KC_KERNEL_SET kernels_avx2
#include "model/cpu_kernels_impl.h"
