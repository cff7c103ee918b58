#pragma once
// Launches in host code that was written for the CUDA runtime.
#include <string>
#include <string_view>
#include <vector>

#include "cuda/extract.h"

namespace kc {

// Every run of blanks becomes one: a line end where it holds one. std::regex recurses once for each character that a
// repetition takes, and thousands of lines of comment are as many blanks.
std::string collapse_blanks(std::string_view text);

// Every `kernel<<<...>>>(...)` of the source, in order.
std::vector<ForeignLaunch> launches_in(const std::string& source);

}  // namespace kc
