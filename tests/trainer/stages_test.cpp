#include <ATen/core/grad_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/tiny_run.h"

namespace kc {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using test::TinyRun;

std::string link_target(const fs::path& link) { return fs::read_symlink(link).string(); }

TEST(Stages, LeaveCheckpointsThatLinksNameAndKeepFewOfThem) {
  const TempFolder folder;
  TinyRun run(folder / "run");
  run.context.checkpoint_files["config.yaml"] = "a: 1\n";
  const StageResult warmup = run_warmup(run.context, TinyRun::warmup(12));
  EXPECT_EQ(warmup.steps_done, 12);
  EXPECT_EQ(link_target(folder / "run/latest"), "steps/000012");
  const StageResult policy = run_policy(run.context, TinyRun::policy(6), {});
  EXPECT_EQ(policy.steps_done, 6);
  EXPECT_EQ(link_target(folder / "run/latest"), "steps/000018");
  EXPECT_EQ(link_target(folder / "run/best"), "steps/" + policy.best_checkpoint);
  EXPECT_TRUE(fs::exists(folder / "run/best/model.safetensors"));
  EXPECT_TRUE(fs::exists(folder / "run/latest/trainer/state.json"));
  EXPECT_TRUE(fs::exists(folder / "run/latest/config.yaml"));
  EXPECT_TRUE(fs::exists(folder / "run/steps/000012")) << "where stage 2 began must stay";
  const fs::directory_iterator kept(folder / "run/steps");
  EXPECT_LE(std::distance(begin(kept), end(kept)), 4);
  EXPECT_LE(policy.best.brier, std::min({warmup.after.brier, policy.before.brier, policy.after.brier}) + 1e-12);
}

TEST(Stages, LogEveryStepBeforeAnyGroupIsDropped) {
  const TempFolder folder;
  TinyRun run(folder / "run");
  run_warmup(run.context, TinyRun::warmup(2));
  run_policy(run.context, TinyRun::policy(2), {});
  std::vector<std::int64_t> steps;
  for_each_json_line(folder / "run/metrics.jsonl", [&](const nlohmann::json& line, std::size_t) {
    steps.push_back(line.at("step"));
    if (line.at("stage") != "policy") return;
    for (const char* key : {"reward/total", "reward/correct", "reward/calibration", "parse/ok", "parse/truncated",
                            "groups/kept", "groups/dropped", "optimizer/gradient_norm", "policy/entropy",
                            "forecast/confidence", "speed/rollout_tokens_per_s", "speed/train_tokens_per_s"}) {
      EXPECT_TRUE(line.contains(key)) << key;
    }
    EXPECT_EQ(line.at("groups/kept").get<double>() + line.at("groups/dropped").get<double>(), 4);
  });
  EXPECT_THAT(steps, testing::ElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(fs::is_empty(folder / "run/tb"));
}

TEST(Stages, TakeNoOptimiserStepWhenEveryGroupIsConstant) {
  const TempFolder folder;
  TinyRun run(folder / "run");
  const auto before = run.model.weights().tensors.at("lm_head.weight").clone();
  run_policy(run.context, TinyRun::policy(1), {});  // an untrained model's answers do not parse: all rewards are 0
  for_each_json_line(folder / "run/metrics.jsonl", [&](const nlohmann::json& line, std::size_t) {
    EXPECT_EQ(line.at("groups/dropped"), 4);
    EXPECT_EQ(line.at("optimizer/stepped"), 0);
  });
  EXPECT_TRUE(before.equal(run.model.weights().tensors.at("lm_head.weight")));
}

TEST(Stages, EndInOneErrorWhenTheLossIsNotFiniteAndKeepTheLastCheckpoint) {
  const TempFolder folder;
  TinyRun run(folder / "run");
  int calls = 0;
  run.context.validate = [&] {
    if (++calls == 2) {
      const at::NoGradGuard no_grad;
      run.model.weights().tensors.at("model.norm.weight").fill_(std::numeric_limits<double>::quiet_NaN());
    }
    return ValidationScore{static_cast<double>(calls), 0};
  };
  WarmupOptions options = TinyRun::warmup(8);
  options.validate_every = 5;
  options.save_every = 4;
  EXPECT_ERROR(run_warmup(run.context, options), ErrorKind::check_failed, testing::HasSubstr("at step 5"));
  EXPECT_NO_THROW(LanguageModel::load(folder / "run/latest"));
  EXPECT_EQ(link_target(folder / "run/latest"), "steps/000004");
}

TEST(Stages, LeaveTheRouterAloneInStageTwoUnlessAsked) {
  for (const bool train_router : {false, true}) {
    const TempFolder folder;
    TinyRun run(folder / "run", WireFormat::direct);
    PolicyOptions options = TinyRun::policy(3);
    options.policy_wire = "direct";
    options.train_router = train_router;
    const std::string router = "model.layers.0.mlp.router.bias";
    const auto before = run.model.weights().tensors.at(router).clone();
    const auto head = run.model.weights().tensors.at("lm_head.weight").clone();
    run_policy(run.context, options, {});
    EXPECT_EQ(before.equal(run.model.weights().tensors.at(router)), !train_router);
    EXPECT_FALSE(head.equal(run.model.weights().tensors.at("lm_head.weight")));
  }
}

TEST(Stages, RefuseARunFolderOfAnotherSeed) {
  const TempFolder folder;
  TinyRun run(folder / "run");
  run_warmup(run.context, TinyRun::warmup(2));
  run.context.seed = 2;
  EXPECT_ERROR(run_warmup(run.context, TinyRun::warmup(2)), ErrorKind::config, testing::HasSubstr("seed"));
  EXPECT_ERROR(run_policy(run.context, TinyRun::policy(2), {}), ErrorKind::config, testing::HasSubstr("seed"));
}

TEST(Stages, LeaveWeightsWithoutGradients) {
  const TempFolder folder;
  TinyRun run(folder / "run");
  run_warmup(run.context, TinyRun::warmup(1));
  for (const auto& [name, value] : run.model.weights().tensors) {
    EXPECT_FALSE(value.requires_grad()) << name;
    EXPECT_FALSE(value.grad().defined()) << name;
  }
}

}  // namespace
}  // namespace kc
