#include "dataset/compiled_text.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace kc {
namespace {

TunedConfiguration configuration() {
  TunedConfiguration c;
  c.language = "cuda";
  c.template_id = "t";
  c.source =
      "//  #pragma unroll loop_unroll_factor_x\n  #pragma unroll loop_unroll_factor_x\nfor (;;) {}\n"
      "#pragma unroll\n#pragma unroll loop_unroll_factor_y\nend";
  c.parameters = {{"block_size_x", "32"}, {"loop_unroll_factor_x", "0"}, {"loop_unroll_factor_y", "4"}};
  c.grid = {7, 8, 1};
  c.block = {32, 2, 1};
  c.block_names = {"block_size_x", "block_size_y", ""};
  return c;
}

TEST(CompiledText, KernelTunerPutsItsLinesBeforeACudaTemplate) {
  const KernelText kernel = compiled_kernel(configuration());
  EXPECT_EQ(
      instantiated_source(kernel),
      "#define grid_size_x 7\n#define grid_size_y 8\n#define grid_size_z 1\n"
      "#define block_size_x 32\n#define block_size_y 2\n"
      "#define block_size_x 32\nconstexpr int loop_unroll_factor_x = 0;\nconstexpr int loop_unroll_factor_y = 4;\n"
      "#define kernel_tuner 1\n#line 1\n"
      "//  #pragma unroll loop_unroll_factor_x\n\nfor (;;) {}\n#pragma unroll\n"
      "#pragma unroll loop_unroll_factor_y\nend");
  EXPECT_EQ(kernel.parameters, configuration().parameters);
  EXPECT_EQ(kernel.template_id, "t");
}

TEST(CompiledText, OpenclKeepsUnrollFactorsAsDefinesAndTheTemplateWhole) {
  TunedConfiguration c = configuration();
  c.language = "opencl";
  const KernelText kernel = compiled_kernel(c);
  EXPECT_EQ(kernel.source, c.source);
  EXPECT_NE(kernel.prologue.find("#define loop_unroll_factor_x 0\n"), std::string::npos);
}

TEST(CompiledText, KttWritesTheNumberIntoThePragma) {
  TunedConfiguration c = configuration();
  c.tool = TuningTool::ktt;
  c.parameters = {{"INNER", "16"}};
  c.source = "    #pragma unroll INNER\r\n#pragma unroll INNERMOST\nx INNER\n";
  EXPECT_EQ(instantiated_source(compiled_kernel(c)),
            "#define INNER 16\n    #pragma unroll 16\r\n#pragma unroll INNERMOST\nx INNER\n");
}

TEST(CompiledText, UnknownToolsAreRefused) { EXPECT_THROW(tuning_tool_of("autotvm"), Error); }

}  // namespace
}  // namespace kc
