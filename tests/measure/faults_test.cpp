// Timing faults, provoked with scripted turns; faults/catalogue.yaml says where each of the 27 rows is tested.
#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include <chrono>
#include <map>

#include "measure/statistics.h"
#include "tests/measure/catalogue.h"
#include "tests/measure/scripted_bench.h"

namespace kc::test {
namespace {

using Result = Expected<double, RunnerFailure>;

// A candidate that is truly 1.25 times as fast, on a machine whose speed `slowness` tells by turn.
template <class Slowness>
ScriptedLabel label_on(const Slowness& slowness) {
  ScriptedBench bench([&](const TurnContext& turn) -> Result {
    return (turn.side == Side::candidate ? 1e5 : 1.25e5) * slowness(turn);
  });
  return label_of(bench);
}
const double kTrue = std::log2(1.25);

TEST(TimingFaults, ClocksThatRiseSlowlyCancelInTheRatio) {
  const ScriptedLabel label = label_on([](const TurnContext& t) { return 1 + std::exp(-double(t.turn) / 20); });
  EXPECT_NEAR(label.log2, kTrue, 0.01) << "alone, the first of these turns is 2 times as slow as the last";
}

TEST(TimingFaults, AClockThatDropsHalfwayCancelsInTheRatio) {
  const ScriptedLabel label = label_on([](const TurnContext& t) { return t.turn < 23 ? 1.0 : 2.0; });
  EXPECT_NEAR(label.log2, kTrue, 1e-6) << "one round of a clock of half the speed between its turns is an outlier";
}

TEST(TimingFaults, DriftOfTheMachineCancelsInTheRatio) {
  const ScriptedLabel label = label_on([](const TurnContext& t) { return 1 + 0.7 * double(t.turn) / 40; });
  EXPECT_NEAR(label.log2, kTrue, 0.005) << "measured one after the other, 1.7 times of drift would hide the difference";
}

TEST(TimingFaults, HeatOfThePreviousTurnCancelsInTheRatio) {
  // Whoever comes second in a round is 5 % slower.
  bool first = false;
  const ScriptedLabel label = label_on([&](const TurnContext& t) {
    if (t.is_warm_up) return 1.0;
    first = !first;
    return first ? 1.0 : 1.05;
  });
  EXPECT_NEAR(label.log2, kTrue, 0.075) << "each order errs by 0.07, in opposite directions";
}

TEST(TimingFaults, OutliersDoNotMoveTheLabel) {
  std::mt19937 random(1);
  const ScriptedLabel label =
      label_on([&](const TurnContext& t) { return t.turn % 7 == 3 ? 1.0 + double(random() % 50) : 1.0; });
  EXPECT_NEAR(label.log2, kTrue, 1e-6) << "a mean would be off by a factor of several";
}

TEST(TimingFaults, DifferencesBelowTheNoiseAreTies) {
  std::mt19937_64 random(2);
  std::normal_distribution<double> normal;
  int real = 0;
  for (int i = 0; i < 200; ++i) {
    ScriptedBench bench([&](const TurnContext&) -> Result { return 1e5 * std::exp2(0.02 * normal(random)); });
    const ScriptedLabel label = label_of(bench);
    real += label.interval.low > 0 || label.interval.high < 0 ? 1 : 0;
  }
  EXPECT_LE(real, 10) << "of 200 equal pairs at most 5 % may look different";
}

TEST(TimingFaults, SlowStartDoesNotChangeTheNumberOfRounds) {
  const auto rounds = [](double first) {
    ScriptedBench bench([&](const TurnContext& turn) -> Result { return turn.turn < 2 ? first : 1e5; });
    LabelPlan plan;
    plan.target_halfwidth = 0;
    return label_of(bench, plan, {}, first, 1e5).rounds;
  };
  EXPECT_EQ(rounds(1e5), rounds(30e6));
}

TEST(TimingFaults, ShortKernelsAreBatchedUntilATurnIsWorthStamping) {
  std::size_t launches = 0;
  ScriptedBench bench([&](const TurnContext& turn) -> Result {
    launches = turn.launches;
    return 3e3;
  });
  label_of(bench, {}, {}, 3e3, 3e3);
  EXPECT_EQ(launches, 40) << "120 us of 3 us: a hand-shake of 0.5 us is 0.4 % of such a turn";
}

TEST(TimingFaults, WarmLaunchesAreNotTimed) {
  std::size_t warm = 0, timed = 0;
  ScriptedBench bench([&](const TurnContext& turn) -> Result {
    warm += turn.warm_launches;
    timed += turn.is_warm_up ? 0 : turn.launches;
    return 1e4;
  });
  EXPECT_NEAR(label_of(bench, {}, {}, 1e4, 1e4).log2, 0, 1e-9);
  EXPECT_GT(warm, 0);
  EXPECT_LT(warm, timed);
}

TEST(TimingFaults, TheFirstTurnOfEachProcessIsNotTimed) {
  std::size_t process = 99;
  const ScriptedLabel label = label_on([&](const TurnContext& t) {
    const bool is_first = t.process != process;
    EXPECT_TRUE(t.is_warm_up || !is_first);
    process = t.process;
    return is_first ? 50.0 : 1.0;
  });
  EXPECT_NEAR(label.log2, kTrue, 1e-6);
}

TEST(TimingFaults, OverheadOfTinyKernelsIsInTheBudget) {
  LabelPlan plan;
  plan.target_halfwidth = 0;
  plan.budget_s = 0.01;
  ScriptedBench bench([](const TurnContext&) -> Result { return 200.0; });
  // A round of 2 x 13 us of launches costs 250 us of waking, copying and checking.
  EXPECT_LE(label_of(bench, plan, {}, 200, 200).rounds, 0.01 / 250e-6 + 1);
}

TEST(TimingFaults, EveryRoundIsANewMeasurement) {
  double now = 1e5;
  ScriptedBench bench([&](const TurnContext&) -> Result { return now += 1; });
  const double estimate = 1e5;
  const auto timing = time_label({}, bench, std::span(&estimate, 1), std::span(&estimate, 1), {});
  ASSERT_TRUE(timing);
  std::set<float> times(timing->cases[0].candidate_ns.begin(), timing->cases[0].candidate_ns.end());
  EXPECT_EQ(times.size(), timing->cases[0].candidate_ns.size());
}

TEST(TimingFaults, TheClockKeepsItsResolutionForALifetime) {
  using Clock = std::chrono::steady_clock;
  static_assert(Clock::is_steady && std::is_integral_v<Clock::rep> && sizeof(Clock::rep) == 8);
  static_assert(std::ratio_equal_v<Clock::period, std::nano>, "292 years of whole nanoseconds");
  std::vector<double> steps;
  for (int i = 0; i < 1000; ++i) {
    const auto start = Clock::now();
    auto end = start;
    while ((end = Clock::now()) == start) {
    }
    steps.push_back(std::chrono::duration<double, std::nano>(end - start).count());
  }
  EXPECT_LT(median_of(steps), 1000);
}

TEST(TimingFaults, EveryRowOfTheCatalogueIsTestedOrCannotOccur) {
  const std::set<std::string> tests = tests_in_the_sources();
  std::map<std::string, int> counts;
  int expected = 1;
  for (const YAML::Node& row : YAML::LoadFile(KC_SOURCE_DIR "/tests/measure/faults/catalogue.yaml")["rows"]) {
    const int number = row["row"].as<int>();
    EXPECT_EQ(number, expected++);
    const std::string category = row["category"].as<std::string>();
    ++counts[category];
    EXPECT_EQ(category == "construction", row["tests"].size() == 0) << "row " << number;
    EXPECT_EQ(category == "construction", row["why"].IsDefined()) << "row " << number;
    EXPECT_TRUE(category != "gpu" || names_a_gpu_test(row["tests"].as<std::vector<std::string>>())) << "row " << number;
    for (const YAML::Node& test : row["tests"]) {
      EXPECT_EQ(tests.count(test.as<std::string>()), 1) << "row " << number << ": no test " << test.as<std::string>();
    }
  }
  EXPECT_EQ(expected, 28);
  for (const auto& [category, count] : counts) RecordProperty(category, count);
  EXPECT_EQ(counts["provoked"] + counts["construction"] + counts["gpu"], 27);
}

}  // namespace
}  // namespace kc::test
