#include "measure/winners.h"

#include <gmock/gmock.h>

#include <random>

#include "measure/speed_limit.h"
#include "tests/measure/task_files.h"

namespace kc::test {
namespace {

// Kernels of equal speed, timed with noise.
class NoisyMeasurer : public Measurer {
 public:
  std::vector<Measurement> measure(std::span<const MeasureRequest> requests,
                                   const std::function<void(std::size_t, const Measurement&)>&,
                                   std::stop_token) override {
    std::vector<Measurement> results(requests.size());
    for (Measurement& result : results) {
      const double log2 = 0.05 * normal_(random_);
      result.cases = {{"case", 1, {1}, {static_cast<float>(std::exp2(log2))}}};
      result.facts = {{"log2_low", log2 - 0.14}, {"log2_high", log2 + 0.14}};
    }
    measured += results.size();
    return results;
  }
  Provenance provenance(const TaskPack&) const override { return {}; }
  std::size_t measured = 0;

 private:
  std::mt19937_64 random_{3};
  std::normal_distribution<double> normal_;
};

TEST(NearClones, AreRecognisedByTheirNormalisedSource) {
  const KernelText kernel{"cpp", "", "int a = 1;  // one\nint b;\n", {{"TILE", "4"}}};
  KernelText copy = kernel;
  copy.source = "/* mine */ int   a = 1;\n\n\n  int b;\n";
  EXPECT_EQ(near_clone_id(kernel), near_clone_id(copy));
  copy.source = "int a = 2;\nint b;\n";
  EXPECT_NE(near_clone_id(kernel), near_clone_id(copy));
  copy = kernel;
  copy.parameters = {{"TILE", "8"}};
  EXPECT_NE(near_clone_id(kernel), near_clone_id(copy));
}

TEST(Winners, TheBestOfManyIsConfirmedByFreshLabels) {
  const TaskFiles files;
  const TaskPack pack = load_task_pack(files.path());
  std::vector<MeasureRequest> requests;
  for (int i = 0; i < 400; ++i) requests.push_back({&pack, candidate_of("int a = " + std::to_string(i) + ";")});
  NoisyMeasurer measurer;
  const std::vector<Measurement> first = measurer.measure(requests, {}, {});
  const std::vector<ConfirmedWinner> winners = confirm_winners(measurer, requests, first, 8, {});
  ASSERT_EQ(winners.size(), 8);
  double first_mean = 0, confirmed_mean = 0;
  for (const ConfirmedWinner& winner : winners) {
    first_mean += winner.first_log2 / 8;
    confirmed_mean += log2_speedup_scalar(winner.label) / 8;
  }
  EXPECT_GT(first_mean, 0.1) << "the best of 400 equal kernels look faster";
  EXPECT_LT(std::abs(confirmed_mean), 0.06) << "their new labels do not";
}

TEST(Winners, CopiesGetOneChanceTogether) {
  const TaskFiles files;
  const TaskPack pack = load_task_pack(files.path());
  const std::vector<MeasureRequest> requests(50, {&pack, candidate_of("int a;  // again")});
  NoisyMeasurer measurer;
  const std::vector<Measurement> first = measurer.measure(requests, {}, {});
  EXPECT_EQ(confirm_winners(measurer, requests, first, 8, {}).size(), 1);
  EXPECT_EQ(measurer.measured, 51);
}

TEST(SpeedLimit, ATimeBelowWhatMovingTheBytesTakesIsImpossible) {
  const TaskFiles files;
  const TaskPack pack = load_task_pack(files.path());
  EXPECT_NEAR(least_nanoseconds(pack, pack.cases[0]), 4096 * 4 / 512.0, 1e-9);
  EXPECT_FALSE(find_impossible_time(pack, pack.cases[0], 40));
  EXPECT_THAT(find_impossible_time(pack, pack.cases[0], 20).value_or(""), ::testing::HasSubstr("impossible"));
}

}  // namespace
}  // namespace kc::test
