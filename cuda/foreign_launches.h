#pragma once
// Launches in host code that was written for the CUDA runtime.
#include <string>
#include <string_view>
#include <vector>

#include "cuda/extract.h"

namespace kc {

// Every run of blanks becomes one: a line end where it holds one. Thousands of lines of comment are as many blanks, and
// patterns with several repetitions would look for their ends at each of them.
std::string collapse_blanks(std::string_view text);

// Every `kernel<<<...>>>(...)` of the source, in order.
std::vector<ForeignLaunch> launches_in(const std::string& source);

}  // namespace kc
