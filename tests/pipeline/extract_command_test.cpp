// `measure extract` as a user meets it.
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kExtension = R"(#include <torch/extension.h>
__global__ void twice(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
torch::Tensor run(torch::Tensor x) {
  auto y = torch::empty_like(x);
  const int threads = 256;
  twice<<<(x.numel() + threads - 1) / threads, threads>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
  return y;
}
)";

class Extract : public ::testing::Test {
 protected:
  Extract() {
    folder_.write("twice.cu", kExtension);
    folder_.write("plain.py", "import torch\nclass ModelNew(torch.nn.Module):\n    pass\n");
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  TempFolder folder_;
};

TEST_F(Extract, PrintsDeviceCodeWithLaunchLines) {
  const ProgramResult result = run_program({"measure", {"extract", path("twice.cu")}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("#pragma kernelcast launch twice grid((x.numel() + 256 - 1) / 256) block(256)"),
                    HasSubstr("y[i] = 2.0f * x[i]"), Not(HasSubstr("torch"))));
}

TEST_F(Extract, ARefusalIsACommentWithItsReasonAndExitOne) {
  const ProgramResult result = run_program({"measure", {"extract", path("plain.py"), path("twice.cu")}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("plain.py: refused: no device code"), HasSubstr("launch twice")));
}

TEST_F(Extract, WritesDraftsIntoAFolderAndSaysSoInATable) {
  const ProgramResult result =
      run_program({"measure", {"extract", path("twice.cu"), path("plain.py"), "--out", path("drafts")}});
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.out, AllOf(HasSubstr("kernels"), HasSubstr("drafts/twice.cu"), HasSubstr("refused")));
  EXPECT_THAT(read_file(path("drafts/twice.cu")), HasSubstr("#pragma kernelcast launch twice"));
  EXPECT_FALSE(std::filesystem::exists(path("drafts/plain.cu")));
}

TEST_F(Extract, NeverReplacesAFile) {
  ProgramResult result = run_program({"measure", {"extract", path("twice.cu"), "--out", path(".")}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("twice.cu"), HasSubstr("there already")));
  EXPECT_EQ(read_file(path("twice.cu")), kExtension) << "the source itself";
  folder_.write("once.cu", kExtension);
  folder_.write("drafts/twice.cu", "edited by hand");
  result = run_program({"measure", {"extract", path("once.cu"), path("twice.cu"), "--out", path("drafts")}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("drafts/twice.cu"));
  EXPECT_EQ(read_file(path("drafts/twice.cu")), "edited by hand");
  EXPECT_FALSE(std::filesystem::exists(path("drafts/once.cu"))) << "all or nothing";
}

TEST_F(Extract, TellsEverythingInJson) {
  const ProgramResult result = run_program({"measure", {"extract", path("twice.cu"), path("plain.py"), "--json"}});
  EXPECT_EQ(result.exit_code, 1);
  const auto files = nlohmann::json::parse(result.out);
  EXPECT_EQ(files.at(0).at("kernels"), nlohmann::json({"twice"}));
  EXPECT_EQ(files.at(0).at("launches").at(0).at("block"), "256");
  EXPECT_THAT(files.at(1).at("refused").get<std::string>(), HasSubstr("operations of PyTorch"));
}

TEST_F(Extract, BadInputIsOneClearError) {
  ProgramResult result = run_program({"measure", {"extract", path("missing.cu")}});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("missing.cu"));
  folder_.write("twice.py", "import torch\n");
  result = run_program({"measure", {"extract", path("twice.cu"), path("twice.py"), "--out", path("drafts")}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("would both become"));
  EXPECT_EQ(run_program({"measure", {"extract", path("twice.cu"), "--set", "measure.time_budget_s=1"}}).exit_code, 2)
      << "there is nothing to configure";
}

}  // namespace
}  // namespace kc::test
