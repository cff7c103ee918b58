#pragma once
// The text of measure/reference/rounded_number.h, built into the library.
#include <string_view>

namespace kc {

std::string_view rounded_number_text();

}  // namespace kc
