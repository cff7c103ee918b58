#include "pipeline/compare_kernels.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "tests/measure/fake_task.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Rounds whose ratio reference / candidate is `speedup`, give or take one percent.
CaseTiming rounds(double speedup, int count = 12) {
  CaseTiming timing{"only", 1, {}, {}};
  for (int r = 0; r < count; ++r) {
    timing.reference_ns.push_back(1000);
    timing.candidate_ns.push_back(static_cast<float>(1000 / speedup * (1 + 0.01 * ((r * 5) % 7 - 3) / 3)));
  }
  return timing;
}

class CompareKernels : public ::testing::Test {
 protected:
  // A device on which a kernel is as many times faster than the seed as its source says; broken ones do not compile.
  std::unique_ptr<Measurer> device() const {
    FakeOptions options;
    options.script = [this](const MeasureRequest& request) {
      const auto speed = [](const KernelText& kernel) {
        return kernel.source == "the seed" ? 1.0 : std::strtod(kernel.source.c_str(), nullptr);
      };
      Measurement result;
      result.facts = facts_;
      if (request.candidate.kernel.source == "broken") {
        result.status = MeasurementStatus::compile_error;
        result.log = "k.cpp:1: error: broken";
        return result;
      }
      if (request.task->seed.source == "broken") throw Error(ErrorKind::bad_data, "the seed does not compile");
      result.cases = {rounds(speed(request.candidate.kernel) / speed(request.task->seed))};
      return result;
    };
    return make_fake_measurer(options);
  }
  static Candidate kernel(const std::string& source) {
    return {source + ".cpp", {"cpp", source, source, {}}, false, ""};
  }
  KernelComparison compare(const std::string& a, const std::string& b, bool direct) const {
    return compare_kernels(task_, kernel(a), kernel(b), *device(), direct, {});
  }
  TaskPack task_ = fake_task();
  Facts facts_ = {{"registers", 32}};
};

TEST_F(CompareKernels, ARealDifferenceIsToldWithBinAndFacts) {
  for (const bool direct : {true, false}) {
    const KernelComparison c = compare("1.5", "6", direct);
    ASSERT_TRUE(c.ok);
    EXPECT_NEAR(c.log2_ratio.value, 2, 0.02) << direct;
    EXPECT_TRUE(c.real);
    EXPECT_EQ(c.bin, bin_of(4));
    const std::string text = comparison_text(c);
    EXPECT_THAT(text, HasSubstr("B is faster"));
    EXPECT_THAT(text, HasSubstr("32"));
    const nlohmann::json json = to_json(c);
    EXPECT_NEAR(json["speedup_of_b_over_a"].get<double>(), 4, 0.1);
    EXPECT_EQ(json["difference_is_real"], true);
    EXPECT_EQ(json["a"]["facts"]["registers"], 32);
  }
  EXPECT_LT(compare("6", "1.5", true).log2_ratio.value, -1.9);
}

TEST_F(CompareKernels, TheSamePairIsNarrowerInTheSameRounds) {
  const Log2Estimate direct = compare("1.5", "6", true).log2_ratio, via_seed = compare("1.5", "6", false).log2_ratio;
  EXPECT_LT(direct.high - direct.low, via_seed.high - via_seed.low);
}

TEST_F(CompareKernels, ATieIsCalledATie) {
  const KernelComparison c = compare("2", "2.001", true);
  EXPECT_FALSE(c.real);
  EXPECT_THAT(comparison_text(c), HasSubstr("no real difference"));
  EXPECT_THAT(comparison_text(c), Not(HasSubstr("in another session"))) << "labels without the facts do not tell";
}

TEST_F(CompareKernels, TheTimesShownHaveTheRatioThatIsShown) {
  FakeOptions options;
  options.script = [](const MeasureRequest& request) {
    const bool is_a = request.candidate.name == "a.cpp";
    Measurement result;
    for (const float ns : {is_a ? 1e4F : 4e4F, is_a ? 1e6F : 5e5F}) {
      result.cases.push_back({"of " + std::to_string(ns), 1, std::vector<float>(8, ns), std::vector<float>(8, 1e5F)});
    }
    return result;
  };
  const KernelComparison c = compare_kernels(task_, kernel("a"), kernel("b"), *make_fake_measurer(options), false, {});
  EXPECT_NEAR(c.a.median_us / c.b.median_us, std::exp2(c.log2_ratio.value), 1e-6);
}

// Where sessions differ much, as on a virtual machine, rounds of one session still tell who is faster.
TEST_F(CompareKernels, SessionsThatDifferDoNotHideWhoIsFasterInThisOne) {
  facts_ = {{"log2_low", -0.4}, {"log2_high", 0.7}, {"within_session_log2_halfwidth", 0.03}};
  for (const bool direct : {true, false}) {
    const KernelComparison c = compare("2", "2.2", direct);
    EXPECT_TRUE(c.real) << direct;
    EXPECT_NEAR(c.log2_here.high - c.log2_here.low, direct ? 0.06 : 0.06 * std::sqrt(2), 1e-9);
    EXPECT_GT(c.log2_ratio.high - c.log2_ratio.low, 1);
    EXPECT_THAT(comparison_text(c), HasSubstr("in another session on this device: 1.1"));
    EXPECT_NEAR(to_json(c)["low_in_this_session"].get<double>(), std::exp2(c.log2_here.low), 1e-9);
  }
  EXPECT_FALSE(compare("2", "2.02", true).real);
}

TEST_F(CompareKernels, AKernelThatFailsIsAStatusWithTheCompilersWords) {
  for (const auto& [a, b] : {std::pair("broken", "2"), {"2", "broken"}}) {
    const KernelComparison c = compare(a, b, true);
    EXPECT_FALSE(c.ok);
    EXPECT_THAT(comparison_text(c), HasSubstr("k.cpp:1: error: broken"));
    EXPECT_EQ(to_json(c).contains("bin"), false);
  }
}

}  // namespace
}  // namespace kc::test
