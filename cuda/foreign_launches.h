#pragma once
// Launches in host code that was written for the CUDA runtime.
#include <string>
#include <vector>

#include "cuda/extract.h"

namespace kc {

// Every `kernel<<<...>>>(...)` of the source, in order.
std::vector<ForeignLaunch> launches_in(const std::string& source);

}  // namespace kc
