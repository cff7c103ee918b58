#pragma once
// Tolerances that follow from the reference's own arithmetic: references of packs with `standard_errors` compute in
// `real` (measure/reference/rounded_number.h), which carries the variance of an honest kernel's rounding errors.
#include <cstddef>
#include <string>

#include "measure/check.h"

namespace kc {

// The type of the pack's floating outputs, which is what kernels compute in. Error{bad_data} when there are none or
// they differ: errors in one type say nothing about another.
DataType computing_type(const TaskPack& pack);

// Bytes of `real` where kernels compute in `type`.
std::size_t size_of_rounded(DataType type);

// What goes in front of such a reference: the type `real`.
std::string rounded_number_prelude(const TaskPack& pack);

// From `count` elements of `real`: standard_errors times the standard error, one rounding to the output's type, and the
// smallest normal number of that type (kernels may flush what is below it). 0 where the reference only moves a value
// that the type can hold.
ExpectedValues with_derived_bounds(DataType type, double standard_errors, const std::byte* from, std::size_t count);

}  // namespace kc
