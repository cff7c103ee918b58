// The shipped packs as users measure them: sound by the harness's own check, and their honest kernels not accused.
#include <gmock/gmock.h>

#include "base/rng.h"
#include "measure/machine.h"
#include "tests/measure/task_files.h"

namespace kc::test {
namespace {

constexpr std::size_t kHonestKernels = 16;  // of each of the 13 packs: more than 200

// Labels may be wide here; what is accused does not depend on that.
HostOptions brief_options() {
  HostOptions options;
  options.time_budget_s = 0.02;
  options.min_rounds = 3;
  options.max_rounds = 3;
  return options;
}

class ShippedPack : public ::testing::TestWithParam<std::string> {
 protected:
  TaskPack pack_ = pack_for_device(load_task_pack(std::filesystem::path(KC_SOURCE_DIR) / "tasks" / GetParam()), "host");
};

TEST_P(ShippedPack, IsSound) {
  const TaskCheck check = check_task(pack_, brief_options(), {});
  for (const TaskFinding& finding : check.findings) {
    ADD_FAILURE() << finding.candidate << ": expected " << finding.expected << ", found " << finding.got << ": "
                  << finding.log;
  }
  EXPECT_LT(check.tolerance_share, 0.8) << check.closest << " comes close to being refused";
}

TEST_P(ShippedPack, ItsHonestKernelsAreNotAccused) {
  std::vector<MeasureRequest> requests;
  for (Candidate& candidate : list_candidates(pack_)) {
    if (candidate.expect.empty()) requests.push_back({&pack_, std::move(candidate)});
  }
  RngStream(7).child(pack_.name).shuffle(requests);
  requests.resize(std::min(requests.size(), kHonestKernels));
  const auto measurer = make_host_measurer(brief_options(), secret_seed());
  for (const Measurement& result : measurer->measure(requests, {}, {})) {
    EXPECT_EQ(name_of(result.status), "ok") << result.kernel_name << ": " << result.log;
  }
  EXPECT_EQ(requests.size(), kHonestKernels) << "the pack has fewer; take more of another";
}

std::vector<std::string> shipped_packs() {
  std::vector<std::string> names;
  for (const TaskPack& pack : load_task_packs(std::filesystem::path(KC_SOURCE_DIR) / "tasks")) {
    if (pack.supports("host")) names.push_back(pack.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Tasks, ShippedPack, ::testing::ValuesIn(shipped_packs()),
                         [](const auto& task) { return task.param; });

TEST(ShippedPacks, AreEnoughForTwoHundredHonestKernels) { EXPECT_GE(shipped_packs().size() * kHonestKernels, 200); }

}  // namespace
}  // namespace kc::test
