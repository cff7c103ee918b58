// The arithmetic against stored values made by Hugging Face transformers (tests/golden/make_gpt_oss.py golden).
#include <gtest/gtest.h>

#include <filesystem>

#include "model/layers_torch.h"
#include "tests/model/reference.h"
#include "tests/model/torch_support.h"

namespace kc {
namespace {

std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(KC_SOURCE_DIR) / "tests/golden/gpt_oss" / name;
}

class Golden : public testing::TestWithParam<std::tuple<std::string, bool>> {
 protected:
  Golden() { use_fused_kernels(std::get<1>(GetParam())); }
  ~Golden() override { use_fused_kernels(true); }
};

TEST_P(Golden, LogitsLossGradientsAndGreedyTokensAgreeWithTransformers) {
  const Agreement a = expect_agreement(golden(std::get<0>(GetParam())));
  EXPECT_EQ(a.left_out, 0);
  print_worst("stored case, logits", a.logits, 1e-5);
  print_worst("stored case, gradients", a.gradients, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden,
                         testing::Combine(testing::Values("window", "beyond_context", "tied_top1", "plain_rope",
                                                          "clamped"),
                                          testing::Bool()),
                         [](const auto& param_info) {
                           return std::get<0>(param_info.param) + (std::get<1>(param_info.param) ? "_fused" : "_plain");
                         });

TEST(GoldenBfloat16, ErrorIsThatOfTransformersWhenTheRoutingIsTheSame) {
  for (const bool fast : {true, false}) {
    use_fused_kernels(fast);
    const HalfAgreement a = expect_half_agreement(golden("half"));
    use_fused_kernels(true);
    print_worst(fast ? "bfloat16 error over transformers', fused" : "the same, plain operators", a.ratio, 1.2);
  }
}

}  // namespace
}  // namespace kc
