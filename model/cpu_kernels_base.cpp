#define KC_KERNEL_SET kernels_base
#include "model/cpu_kernels_impl.h"
