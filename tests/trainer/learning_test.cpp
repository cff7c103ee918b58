#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/trainer/tiny_run.h"

namespace kc {
namespace {

using test::TempFolder;
using test::TinyRun;

WarmupOptions long_warmup(std::int64_t steps) {
  WarmupOptions options = TinyRun::warmup(steps);
  options.probability_fraction = 0.5;
  options.probability_weight_start = options.probability_weight_end = 0.5;
  options.validate_every = options.save_every = 0;
  return options;
}

double parse_rate(TinyRun& run) {
  std::vector<RolloutItem> items;
  for (const TrainingExample& example : run.examples.batch(900, 8)) items.push_back({example.prompt, example.truth});
  const auto groups =
      collect_rollouts(run.model.sampler(), run.encoder, items, {4, 1.0, WireFormat::compact}, {}, RngStream(1), {});
  return rollout_metrics(groups, {}).at("parse/ok") / 32;
}

TEST(Learning, TheWarmStartMemorisesEightKindsInBothReadings) {
  for (const char* optimizer : {"muon", "adam"}) {
    const TempFolder folder;
    TinyRun run(folder / "run");
    WarmupOptions options = long_warmup(200);
    options.optimizer = optimizer;
    const StageResult result = run_warmup(run.context, options);
    EXPECT_GT(result.before.brier, 0.35) << optimizer;
    EXPECT_LT(result.after.brier, 0.05) << optimizer;
    EXPECT_EQ(result.after.accuracy, 1.0) << optimizer;
    EXPECT_GT(parse_rate(run), 0.9) << optimizer;
  }
}

double mean_reward(const std::filesystem::path& run, std::int64_t from, std::int64_t to) {
  double sum = 0;
  for_each_json_line(run / "metrics.jsonl", [&](const nlohmann::json& line, std::size_t) {
    const auto step = line.at("step").get<std::int64_t>();
    if (step > from && step <= to) sum += line.at("reward/total").get<double>();
  });
  return sum / static_cast<double>(to - from);
}

// The same prompts with labels of another kind.
class RelabelledExamples final : public ExampleSource {
 public:
  RelabelledExamples(const ExampleSource& inner, bool at_random) : inner_(inner), at_random_(at_random) {}
  std::vector<TrainingExample> batch(std::int64_t step, std::int64_t count) const override {
    std::vector<TrainingExample> examples = inner_.batch(step, count);
    RngStream rng = RngStream(9).child(static_cast<std::uint64_t>(step));
    for (TrainingExample& example : examples) {
      example.truth = at_random_ ? static_cast<Bin>(rng.below(kBins)) + 1 : 3;
    }
    return examples;
  }

 private:
  const ExampleSource& inner_;
  bool at_random_;
};

TEST(Learning, ThePolicyGradientMovesForecastsToTheRewardedBin) {
  for (const WireFormat wire : {WireFormat::compact, WireFormat::direct}) {
    const TempFolder folder;
    TinyRun run(folder / "run", wire);
    const RelabelledExamples unknowable(run.examples, true), always_three(run.examples, false);
    run.context.warmup_examples = &unknowable;
    run.context.policy_examples = &always_three;
    constexpr std::int64_t kBefore = 120, kSteps = 80;
    run_warmup(run.context, long_warmup(kBefore));
    PolicyOptions options = TinyRun::policy(kSteps);
    options.policy_wire = name_of(wire);
    options.learning_rate = 3e-3;
    options.validate_every = options.save_every = 0;
    run_policy(run.context, options, {RewardKind::correctness, 1.0, CrpsScale::plain});
    const double first = mean_reward(folder / "run", kBefore, kBefore + 5);
    const double last = mean_reward(folder / "run", kBefore + kSteps - 10, kBefore + kSteps);
    EXPECT_GT(last, first + 0.25) << name_of(wire);
    EXPECT_GT(last, 0.6) << name_of(wire);
  }
}

}  // namespace
}  // namespace kc
