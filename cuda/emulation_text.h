#pragma once
// The texts of cuda/emulation/threads_on_host.h and cuda_on_host.h, built into the library.
#include <string_view>

namespace kc {

std::string_view emulation_text();

}  // namespace kc
