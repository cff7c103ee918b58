#include "measure/label_timing.h"

#include <gmock/gmock.h>

#include "tests/measure/scripted_bench.h"

namespace kc::test {
namespace {

ScriptedBench::Script steady(double candidate_ns, double seed_ns) {
  return [=](const TurnContext& turn) -> Expected<double, RunnerFailure> {
    return turn.side == Side::candidate ? candidate_ns : seed_ns;
  };
}

TEST(LabelTiming, AlternatesWhoComesFirst) {
  ScriptedBench bench(steady(1e5, 2e5));
  EXPECT_NEAR(label_of(bench).log2, 1, 1e-6);
  for (std::size_t round = 0; round + 1 < bench.order.size() / 2; ++round) {
    EXPECT_NE(bench.order[2 * round], bench.order[2 * round + 1]);
    EXPECT_NE(bench.order[2 * round], bench.order[2 * round + 2]) << "round " << round;
  }
}

TEST(LabelTiming, NoProcessMeetsAnInputTwice) {
  ScriptedBench bench(steady(2e3, 2e3));
  LabelPlan plan;
  plan.target_halfwidth = 0;
  EXPECT_EQ(label_of(bench, plan).processes, 8);
  EXPECT_FALSE(bench.repeated);
  EXPECT_EQ(bench.sets_made, 2 + 8 * 60) << "sets are shared by processes, which cannot remember them";
}

TEST(LabelTiming, ARoundThatDoesNotCountIsTakenAgainOnOtherInputs) {
  int asked = 0;
  ScriptedBench bench(steady(2e3, 4e3));
  bench.counts = [&asked] { return ++asked % 3 != 0; };
  const ScriptedLabel label = label_of(bench);
  EXPECT_EQ(label.rounds, 8 * label.processes) << "as many count as without the others";
  EXPECT_EQ(bench.order.size() / 2, static_cast<std::size_t>(asked));
  EXPECT_GT(static_cast<std::size_t>(asked), label.rounds);
  EXPECT_FALSE(bench.repeated) << "a candidate that remembers must not meet an input again";
}

TEST(LabelTiming, StopsAfterTwoProcessesWhereTheyAgreeAndUsesMoreWhereTheyDoNot) {
  ScriptedBench calm(steady(1e5, 2e5));
  ProcessNoise known;
  for (int i = 0; i < 4; ++i) known.add(std::vector<double>{0, 0.001, 0.002});
  EXPECT_EQ(label_of(calm, {}, known).processes, 2);
  ScriptedBench restless([](const TurnContext& turn) -> Expected<double, RunnerFailure> {
    return turn.side == Side::seed ? 1e5 : turn.process % 2 == 0 ? 1e5 : 1.1e5;
  });
  const ScriptedLabel label = label_of(restless, {}, known);
  EXPECT_EQ(label.processes, 8);
  EXPECT_GT(label.interval.halfwidth(), 0.05);
}

TEST(LabelTiming, RoundsThatEndOnASharedCoreAreRepeatedOnOtherInputs) {
  ScriptedBench bench(steady(1e5, 2e5));
  bench.quiet = [](std::size_t look) { return look % 8 != 3; };
  LabelPlan plan;
  plan.patience_s = 60;
  const ScriptedLabel label = label_of(bench, plan);
  EXPECT_GT(label.repeated_rounds, 0);
  EXPECT_EQ(label.disturbed_rounds, 0);
  EXPECT_EQ(label.rounds, 8 * label.processes) << "as many as without repeats";
  EXPECT_FALSE(bench.repeated);
}

TEST(LabelTiming, ACoreThatIsAlwaysSharedCostsNoMoreThanPatienceAndWidensTheInterval) {
  ScriptedBench alone(steady(1e5, 2e5));
  ScriptedBench shared(steady(1e5, 2e5));
  shared.quiet = [](std::size_t) { return false; };
  const ScriptedLabel calm = label_of(alone), disturbed = label_of(shared);
  EXPECT_EQ(disturbed.disturbed_rounds, disturbed.rounds);
  EXPECT_GT(disturbed.interval.halfwidth(), 2 * kSharedCoreLog2);
  EXPECT_LT(calm.interval.halfwidth(), kSharedCoreLog2);
}

TEST(LabelTiming, ACoreThatWasSharedForEarlierLabelsWidensTheIntervalToo) {
  ScriptedBench bench(steady(1e5, 2e5));
  LabelPlan plan;
  plan.earlier = {1000, 900};
  EXPECT_GT(label_of(bench, plan).interval.halfwidth(), 2 * kSharedCoreLog2);
}

TEST(LabelTiming, NeighboursThatCannotBeSeenWidenTheIntervalAsThoseThatAre) {
  ScriptedBench bench(steady(1e5, 2e5));
  LabelPlan plan;
  plan.unseen_neighbours = true;
  const ScriptedLabel label = label_of(bench, plan);
  EXPECT_EQ(label.disturbed_rounds, 0);
  EXPECT_GT(label.interval.halfwidth(), 2 * kSharedCoreLog2);
}

// What `measure doctor` promises.
TEST(LabelTiming, TheLastLookOfAQuietLabelLeavesWhatSessionsLeave) {
  ScriptedBench bench(steady(1e5, 2e5));
  LabelPlan plan;
  plan.target_halfwidth = 0;
  plan.unseen_neighbours = true;
  ProcessNoise known;
  for (int i = 0; i < 4; ++i) known.add(std::vector<double>{0, 0.001, 0.002});
  const ScriptedLabel label = label_of(bench, plan, known);
  ASSERT_EQ(label.processes, 8);
  EXPECT_GT(label.interval.halfwidth(), session_halfwidth(1));
  EXPECT_LT(label.interval.halfwidth(), 1.01 * session_halfwidth(1));
  EXPECT_LT(label.within_session, 0.01) << "neighbours do not widen what rounds of one session say of each other";
}

TEST(LabelTiming, TheNumberOfRoundsFollowsFromTheBudget) {
  LabelPlan plan;
  plan.target_halfwidth = 0;
  ScriptedBench slow(steady(1e7, 1e7));
  EXPECT_EQ(label_of(slow, plan, {}, 1e7, 1e7).rounds, 12) << "0.25 s for turns of 20 ms, in two processes";
  ScriptedBench slowest(steady(1e9, 1e9));
  const ScriptedLabel label = label_of(slowest, plan, {}, 1e9, 1e9);
  EXPECT_EQ(label.rounds, 3);
  EXPECT_EQ(label.processes, 1);
  EXPECT_TRUE(std::isfinite(label.interval.low));
}

TEST(LabelTiming, IntervalsOfScriptedProcessesAndSessionsHoldWhatTheyPromise) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  ProcessNoise noise;
  int covered = 0, inside = 0;
  constexpr int kLabels = 2000;
  for (int i = 0; i < kLabels; ++i) {
    double values[2];
    Interval intervals[2];
    for (int session = 0; session < 2; ++session) {
      const double shift = kSessionLog2 * normal(random);
      std::vector<double> shifts(9);
      for (double& s : shifts) s = shift + 0.004 * normal(random);
      ScriptedBench bench([&](const TurnContext& turn) -> Expected<double, RunnerFailure> {
        const double log2 = shifts[turn.process] + 0.01 * normal(random);
        return turn.side == Side::seed ? 1e5 : 1e5 * std::exp2(-log2);
      });
      const double estimate = 1e5;
      const auto timing = time_label({}, bench, std::span(&estimate, 1), std::span(&estimate, 1), noise);
      ASSERT_TRUE(timing);
      noise.add(timing->process_log2);
      intervals[session] = timing->interval;
      values[session] = (timing->interval.low + timing->interval.high) / 2;
    }
    covered += intervals[0].low <= 0 && intervals[0].high >= 0 ? 1 : 0;
    inside += std::fabs(values[0] - values[1]) <= std::min(intervals[0].halfwidth(), intervals[1].halfwidth()) ? 1 : 0;
  }
  EXPECT_GE(covered, 0.95 * kLabels);
  EXPECT_GE(inside, 0.95 * kLabels);
  EXPECT_LT(inside, kLabels) << "an interval that always holds says nothing";
}

TEST(ProcessNoise, OneWildLabelDoesNotWidenThoseOfTheOthers) {
  ProcessNoise noise;
  for (int i = 0; i < 20; ++i) noise.add(std::vector<double>{0.000, 0.004});
  const double before = noise.variance();
  noise.add(std::vector<double>{0.0, 1.0});
  EXPECT_NEAR(noise.variance(), before, 1e-9);
  EXPECT_NEAR(before, 8e-6, 1e-9);
}

TEST(ProcessNoise, ALabelThatSpreadsMoreThanItsTaskGetsAWiderInterval) {
  ProcessNoise noise;
  for (int i = 0; i < 20; ++i) noise.add(std::vector<double>{0.000, 0.004});
  const std::vector<double> calm = {0.0, 0.001, 0.002, 0.001}, wild = {0.0, 0.1, 0.2, 0.1};
  EXPECT_GT(label_interval(0, wild, 0, noise, 0.05, 0).halfwidth(),
            3 * label_interval(0, calm, 0, noise, 0.05, 0).halfwidth());
  EXPECT_GT(label_interval(0, calm, 0.01, noise, 0.05).halfwidth(), 0.1) << "noisy rounds count too";
}

}  // namespace
}  // namespace kc::test
