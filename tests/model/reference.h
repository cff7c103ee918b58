#pragma once
// A model folder against the values that tests/golden/make_gpt_oss.py made of it with Hugging Face transformers.
#include <cstdint>
#include <filesystem>
#include <string>

namespace kc {

struct Agreement {
  double logits = 0;          // relative error over the kept positions
  double gradients = 0;       // the largest of all tensors
  std::int64_t left_out = 0;  // positions whose router was nearly undecided, and those after them
  std::int64_t positions = 0;
  void add(const Agreement& other);  // keeps the worst
};

// Expects, with the kernels that are on: YaRN's inverse frequencies bit for bit, logits within 1e-5, the loss, every
// gradient within 1e-4, and the greedy continuations equal.
Agreement expect_agreement(const std::filesystem::path& folder);

struct HalfAgreement {
  double ratio = 0;              // RMS error of our logits over that of transformers', routing prescribed
  double flipped_ours = 0;       // share of routings that differ from fp32's when free
  double flipped_reference = 0;  // of transformers'
};
// A folder in bfloat16: expects the ratio to be at most 1.2.
HalfAgreement expect_half_agreement(const std::filesystem::path& folder);

}  // namespace kc
