// `measure check --device cuda` as a user meets it.
#include "pipeline/check_cuda.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "tests/cuda/cuda_task.h"
#include "tests/cuda/needs_nvrtc.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

CudaVariant variant(const std::string& expect, bool compiles, double occupancy = 0.5) {
  return {"k.cu", "sm_80", expect, compiles, compiles ? "" : "no", {{"occupancy", occupancy}}};
}

TEST(FindFaults, AVariantMustCompileUnlessThePackSaysNot) {
  const std::vector<CudaVariant> sound = {variant("ok", true), variant("incorrect", true),
                                          variant("compile_error", false)};
  EXPECT_TRUE(find_faults(sound).empty());
  const std::vector<CudaVariant> faulty = {variant("ok", false), variant("compile_error", true),
                                           variant("runtime_error", false), variant("ok", true, 0)};
  const std::vector<TaskFinding> found = find_faults(faulty);
  ASSERT_EQ(found.size(), 4);
  EXPECT_EQ(found[0].candidate, "k.cu for sm_80");
  EXPECT_EQ(found[0].got, "compile_error");
  EXPECT_EQ(found[1].got, "it compiles");
  EXPECT_THAT(found[3].got, HasSubstr("no block fits"));
}

class CheckCuda : public ::testing::Test {
 protected:
  void SetUp() override { KC_NEEDS_NVRTC(); }
  static ProgramResult check(const CudaTask& task, std::vector<std::string> more = {}) {
    std::vector<std::string> arguments = {"check", "--device", "cuda", "--tasks", task.folder().string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_program({"measure", arguments});
  }
};

TEST_F(CheckCuda, ShowsResourcesByArchitectureAndWhatItCannotShow) {
  const ProgramResult result = check(CudaTask());
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("sm_80"), HasSubstr("sm_90a"), HasSubstr("sm_100a"),
                                HasSubstr("affine.cu BLOCK=64"), HasSubstr(": sound"), HasSubstr("run on the CPU"),
                                HasSubstr("Without a GPU this cannot show: speed")));
}

TEST_F(CheckCuda, FindsWhatDoesNotCompileAndWhatComputesWrongly) {
  std::string wrong = kCudaSource;
  wrong.replace(wrong.find("1.0f"), 4, "3.0f");
  for (std::size_t at = wrong.find("BLOCK"); at != std::string::npos; at = wrong.find("BLOCK"))
    wrong.replace(at, 5, "64");
  const CudaTask task(std::string(kCudaYaml) + "    - {source: wrong.cu}\n    - {source: broken.cu}\n",
                      {{"wrong.cu", wrong}, {"broken.cu", "no kernel"}});
  const ProgramResult result = check(task, {"--json"});
  EXPECT_EQ(result.exit_code, 1) << result.err;
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_GE(report.at("not_shown").size(), 5);
  const auto& checked = report.at("tasks").at("affine");
  EXPECT_GT(checked.at("variants").at(0).at("facts").at("registers"), 0);
  std::vector<std::string> found;
  for (const auto& finding : checked.at("findings")) {
    found.push_back(finding.at("candidate").get<std::string>() + ": " + finding.at("found").get<std::string>());
  }
  EXPECT_THAT(found, ::testing::IsSupersetOf({"broken.cu for sm_80: compile_error",
                                              "broken.cu for sm_100a: compile_error", "wrong.cu: incorrect"}));
}

TEST(Check, ATaskWithoutAPartForTheDeviceIsAnError) {
  const TaskFiles task;
  const ProgramResult result = run_program({"measure", {"check", "--device", "cuda", "--tasks", task.path().string()}});
  EXPECT_EQ(result.exit_code, 3) << result.out;
  EXPECT_THAT(result.err, AllOf(HasSubstr("no part for cuda in affine"), HasSubstr("task.yaml")));
}

TEST_F(CheckCuda, SkipsTasksOfAFolderThatHaveNoPartForTheDevice) {
  const TempFolder folder;
  const CudaTask with;
  const TaskFiles without({{"task.yaml", replaced(kTaskYaml, "affine", "host_only")}});
  std::filesystem::copy(with.folder(), folder / "affine", std::filesystem::copy_options::recursive);
  std::filesystem::copy(without.path(), folder / "host_only", std::filesystem::copy_options::recursive);
  const ProgramResult result =
      run_program({"measure", {"check", "--device", "cuda", "--tasks", folder.path().string(), "--json"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("skipped, without a part for cuda: host_only"));
  EXPECT_EQ(nlohmann::json::parse(result.out).at("tasks").size(), 1);
}

TEST(Check, RefusesOtherDevices) {
  const ProgramResult result = run_program({"measure", {"check", "--device", "replay:x.h5"}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("host or cuda"));
}

}  // namespace
}  // namespace kc::test
