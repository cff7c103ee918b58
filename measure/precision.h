#pragma once
// How tight a task's tolerance is, against the errors of honest kernels and of kernels that compute with fewer digits.
#include <span>
#include <string>
#include <vector>

#include "measure/check.h"

namespace kc {

// A format with few digits: what a kernel would use to be faster than it may.
struct LowPrecision {
  const char* name;
  int mantissa_bits;  // explicit ones
};
inline constexpr LowPrecision kFloatFormat = {"float", 23};
inline constexpr LowPrecision kHalfFormats[] = {{"half", 10}, {"bfloat16", 7}};  // TF32 has the mantissa of half

// What a kernel would compute with that is faster than these tensors' types. The widest comes first; values that it
// holds exactly may be coarse in the next one.
std::vector<LowPrecision> formats_below(std::span<const TensorSpec> tensors);

double rounded_to(double value, int mantissa_bits);

// Outputs of a case as a candidate gives them that computes exactly and rounds at the end to `format`.
std::vector<std::byte> rounded_outputs(const OutputCheck& check, const ExpectedOutputs& expected,
                                       const LowPrecision& format);

// As a candidate gives them that computes exactly.
std::vector<std::byte> exact_outputs(const OutputCheck& check, const ExpectedOutputs& expected);

// Every element of each output is the mean of that output.
std::vector<std::byte> mean_outputs(const OutputCheck& check, const ExpectedOutputs& expected);

// The largest error of these outputs as a share of what the tolerance allows, over the floating outputs: 1 is at the
// limit. 0 when there are none.
double share_of_tolerance(const OutputCheck& check, const ExpectedOutputs& expected,
                          std::span<const std::byte> outputs);

// Below this share of the tolerance an honest kernel of the same precision leaves more room than a derivation from its
// error model can explain (roundings add like a root or like a sum, elements differ): docs/measurement.md, "Checks".
inline constexpr double kLooseShare = 1.0 / 256;

}  // namespace kc
