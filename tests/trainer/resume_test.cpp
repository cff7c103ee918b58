#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/atomic_file.h"
#include "tests/support/expect_error.h"
#include "tests/trainer/tiny_run.h"

namespace kc {
namespace {

namespace fs = std::filesystem;
using test::TempFolder;
using test::TinyRun;

constexpr std::int64_t kWarmupSteps = 11;
constexpr std::int64_t kPolicySteps = 7;

// The policy of this test is `direct`, which has a signal from the first step on.
StageResult run_second(const TrainingContext& context) {
  PolicyOptions options = TinyRun::policy(kPolicySteps);
  options.policy_wire = "direct";
  return run_policy(context, options, {});
}

void run_both(const TrainingContext& context) {
  run_warmup(context, TinyRun::warmup(kWarmupSteps));
  run_second(context);
}

std::string final_weights(const fs::path& run) { return read_file(run / "latest/model.safetensors"); }
std::string final_optimizer(const fs::path& run) { return read_file(run / "latest/trainer/optimizer.safetensors"); }

// Asks to stop when the n-th batch of the run is drawn.
class StoppingExamples final : public ExampleSource {
 public:
  StoppingExamples(const ExampleSource& inner, std::stop_source& stop, int after)
      : inner_(inner), stop_(stop), left_(after) {}
  std::vector<TrainingExample> batch(std::int64_t step, std::int64_t count) const override {
    if (--left_ == 0) stop_.request_stop();
    return inner_.batch(step, count);
  }

 private:
  const ExampleSource& inner_;
  std::stop_source& stop_;
  mutable int left_;
};

void run_until_stopped(const fs::path& folder, int steps) {
  TinyRun run(folder);
  std::stop_source stop;
  const StoppingExamples examples(run.examples, stop, steps);
  run.context.warmup_examples = &examples;
  run.context.policy_examples = &examples;
  run.context.stop = stop.get_token();
  EXPECT_ERROR(run_both(run.context), ErrorKind::interrupted, testing::_);
}

TEST(Resume, GivesTheSameWeightsBitForBitAsAnUninterruptedRun) {
  const TempFolder folder;
  TinyRun whole(folder / "whole");
  run_both(whole.context);
  for (const int stop_after : {1, 5, 12, 16}) {
    const fs::path path = folder / ("stopped-" + std::to_string(stop_after));
    run_until_stopped(path, stop_after);
    TinyRun resumed(path);
    run_both(resumed.context);
    EXPECT_TRUE(final_weights(path) == final_weights(folder / "whole")) << stop_after;
    EXPECT_TRUE(final_optimizer(path) == final_optimizer(folder / "whole")) << stop_after;
  }
}

TEST(Resume, OfAFinishedRunChangesNothingAndLoadsItsWeights) {
  const TempFolder folder;
  TinyRun first(folder / "run");
  run_both(first.context);
  const std::string weights = final_weights(folder / "run");
  TinyRun second(folder / "run");
  const StageResult warmup = run_warmup(second.context, TinyRun::warmup(kWarmupSteps));
  EXPECT_EQ(warmup.steps_done, kWarmupSteps);
  EXPECT_EQ(fs::read_symlink(folder / "run/latest"), "steps/000018");
  run_second(second.context);
  EXPECT_TRUE(final_weights(folder / "run") == weights);
  for (const auto& [name, value] : second.model.weights().tensors) {
    EXPECT_TRUE(value.equal(first.model.weights().tensors.at(name))) << name;
  }
}

TEST(Resume, IgnoresHalfWrittenCheckpoints) {
  const TempFolder folder;
  run_until_stopped(folder / "run", 5);
  folder.write("run/steps/.000008.partial-1-0/model.safetensors", "half");
  TinyRun resumed(folder / "run");
  EXPECT_NO_THROW(run_both(resumed.context));
}

TEST(Resume, RefusesAFinishedStageOfAnotherLength) {
  const TempFolder folder;
  TinyRun run(folder / "run");
  run_warmup(run.context, TinyRun::warmup(2));
  EXPECT_ERROR(run_warmup(run.context, TinyRun::warmup(3)), ErrorKind::config, testing::HasSubstr("after 2 steps"));
}

// SIGKILL as soon as a checkpoint later than the first two is being written.
void kill_in_a_save(const fs::path& folder) {
  std::jthread killer([steps = folder / "steps"](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      std::error_code ignored;
      for (const fs::directory_entry& entry : fs::directory_iterator(steps, ignored)) {
        const std::string name = entry.path().filename().string();
        if (name.front() != '.' || name.starts_with(".000000") || name.starts_with(".000003")) continue;
        if (fs::exists(entry.path() / "model.safetensors", ignored)) ::raise(SIGKILL);
      }
    }
  });
  TinyRun run(folder);
  run_both(run.context);
}

TEST(ResumeDeathTest, SurvivesAKillInTheMiddleOfASave) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const char* inherited = std::getenv("KC_KILLED_RUN");  // the child runs this test from its beginning
  const TempFolder folder;
  const fs::path path = inherited != nullptr ? fs::path(inherited) : folder / "killed";
  ::setenv("KC_KILLED_RUN", path.c_str(), 1);
  EXPECT_EXIT(kill_in_a_save(path), testing::KilledBySignal(SIGKILL), "");
  ::unsetenv("KC_KILLED_RUN");
  ASSERT_TRUE(fs::is_symlink(path / "latest"));
  EXPECT_NO_THROW(LanguageModel::load(path / "latest"));
  TinyRun resumed(path), whole(folder / "whole");
  run_both(resumed.context);
  run_both(whole.context);
  EXPECT_TRUE(final_weights(path) == final_weights(folder / "whole"));
}

}  // namespace
}  // namespace kc
