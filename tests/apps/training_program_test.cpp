// `train`, `evaluate` and `forecast` end to end on a synthetic store and a tiny model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/json.h"
#include "tests/support/program.h"
#include "tests/support/synthetic_store.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr const char* kTinyConfig = R"(
run: {threads: 1}
data: {split: {validation_fraction: 0.2, test_fraction: 0.2}}
tokenizer: {size: 400, prompts: 200}
model: {hidden_size: 32, intermediate_size: 32, num_hidden_layers: 2, num_attention_heads: 2, num_key_value_heads: 1, head_dim: 16,
        num_local_experts: 2, num_experts_per_tok: 1, sliding_window: 16}
warmup: {steps: 12, batch_pairs: 8, save_every: 4, validate_every: 6}
policy: {steps: 6, prompts_per_step: 4, group_size: 4, save_every: 2, validate_every: 3}
evaluate: {rows: 48, samples: 2, validation_rows: 24, bootstrap: 50}
)";

class TrainingPrograms : public ::testing::Test {
 protected:
  TrainingPrograms() {
    std::string name = (fs::temp_directory_path() / "kc-train-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    write_store(folder_ / "store.h5", synthetic_store());
    std::ofstream(folder_ / "tiny.yaml") << kTinyConfig;
  }
  ~TrainingPrograms() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  ProgramCall train(const std::string& run, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"--config", path("tiny.yaml"),     "--set", "data.path=" + path("store.h5"),
                                       "--set",    "run.dir=" + path(run)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return {"train", arguments};
  }
  // Hash of the newest checkpoint's weights.
  std::string latest_weights(const std::string& run) const {
    std::string newest;
    for (const auto& entry : fs::directory_iterator(folder_ / run / "steps"))
      newest = std::max(newest, entry.path().string());
    return sha256_hex(read_file(fs::path(newest) / "model.safetensors"));
  }
  fs::path folder_;
};

TEST_F(TrainingPrograms, ARunWritesTheFilesThatItPromises) {
  const ProgramResult result = run_program(train("run"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  for (const char* file :
       {"config.yaml", "metrics.jsonl", "evaluation.json", "warm_start/model.safetensors", "warm_start/manifest.json",
        "predictions/before-direct-kernels.jsonl", "predictions/after-compact-kernels.jsonl", "tb"}) {
    EXPECT_TRUE(fs::exists(folder_ / "run" / file)) << file;
  }
  const nlohmann::json evaluation = read_json_file(folder_ / "run" / "evaluation.json");
  for (const char* metric : {"accuracy", "brier", "crps", "ece", "mean_confidence"}) {
    const nlohmann::json& entry = evaluation.at("after").at("direct").at("kernels").at(metric);
    EXPECT_LE(entry.at("low").get<double>(), entry.at("value").get<double>()) << metric;
    EXPECT_GE(entry.at("high").get<double>(), entry.at("value").get<double>()) << metric;
    EXPECT_EQ(entry.at("n"), evaluation.at("after").at("direct").at("kernels").at("rows")) << metric;
    EXPECT_TRUE(evaluation.at("baselines").at("base_rates").at("kernels").contains(metric));
  }
}

TEST_F(TrainingPrograms, AnExistingRunIsNotOverwritten) {
  ASSERT_EQ(run_program(train("run", {"--set", "warmup.steps=1", "--set", "policy.steps=0"})).exit_code, 0);
  const ProgramResult again = run_program(train("run"));
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_THAT(again.err, HasSubstr("--resume"));
}

TEST_F(TrainingPrograms, AKilledRunResumesToTheSameWeights) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds_since = [](std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  ASSERT_EQ(run_program(train("whole")).exit_code, 0);
  double whole_s = seconds_since(start);
  const std::string expected = latest_weights("whole");
  int killed = 0;
  for (int i = 1; i <= 8 || (i <= 24 && killed < 3); ++i) {
    const double after_s = whole_s * ((i - 1) % 8 + 1) / 9;
    const std::string run = "killed-" + std::to_string(i);
    ProgramCall call = train(run);
    call.kill_after_s = after_s;
    call.kill_signal = SIGKILL;
    const auto begin = std::chrono::steady_clock::now();
    const bool was_killed = run_program(call).exit_code == 128 + SIGKILL;
    if (!was_killed) whole_s = std::min(whole_s, seconds_since(begin));       // the machine was busy before
    if (!was_killed || !fs::exists(folder_ / run / "config.yaml")) continue;  // too late, or before it began
    ++killed;
    const ProgramResult resumed = run_program({"train", {"--resume", path(run)}});
    ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_EQ(latest_weights(run), expected) << after_s;
    EXPECT_EQ(read_file(folder_ / run / "evaluation.json"), read_file(folder_ / "whole" / "evaluation.json"))
        << after_s;
  }
  EXPECT_GE(killed, 3);
}

TEST_F(TrainingPrograms, CtrlCLeavesARunThatResumes) {
  ProgramCall call = train("stopped", {"--set", "warmup.steps=3000"});
  call.kill_after_s = 2.5;
  call.kill_signal = SIGINT;
  const ProgramResult result = run_program(call);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_TRUE(fs::exists(folder_ / "stopped" / "config.yaml"));
}

TEST_F(TrainingPrograms, ACheckpointIsEvaluatedAndUsed) {
  ASSERT_EQ(run_program(train("run")).exit_code, 0);
  const ProgramResult evaluated =
      run_program({"evaluate", {"--checkpoint", path("run"), "--split", "kernels", "--json"}});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_TRUE(nlohmann::json::parse(evaluated.out).at("checkpoint").at("direct").at("kernels").contains("brier"));

  std::ofstream(path("reference.cpp"))
      << "#define WIDTH 1\n#define DEPTH 1\nvoid run() { /* widen */ work(WIDTH, DEPTH); }\n";
  std::ofstream(path("candidate.cpp"))
      << "#define WIDTH 4\n#define DEPTH 1\nvoid run() { /* widen */ work(WIDTH, DEPTH); }\n";
  const ProgramResult forecast = run_program({"forecast",
                                              {"--checkpoint", path("run"), "--task", "widen", "--hardware", "AMD EPYC",
                                               path("reference.cpp"), path("candidate.cpp")}});
  ASSERT_EQ(forecast.exit_code, 0) << forecast.err;
  EXPECT_THAT(forecast.out, HasSubstr("extreme_speedup"));
  EXPECT_EQ(forecast.err.find("was not in the training data"), std::string::npos) << forecast.err;

  const ProgramResult strange = run_program({"forecast",
                                             {"--checkpoint", path("run"), "--task", "unheard_of", "--hardware",
                                              "NVIDIA H100 80GB HBM3", path("reference.cpp"), path("candidate.cpp")}});
  EXPECT_THAT(strange.err, HasSubstr("unheard_of"));
  EXPECT_THAT(strange.err, HasSubstr("NVIDIA H100"));
}

TEST_F(TrainingPrograms, ACheckpointWithAnotherVocabularyIsRefused) {
  ASSERT_EQ(run_program(train("small", {"--set", "policy.steps=0"})).exit_code, 0);
  ASSERT_EQ(run_program(train("large", {"--set", "policy.steps=0", "--set", "tokenizer.size=420"})).exit_code, 0);
  fs::copy_file(folder_ / "large" / "warm_start" / "tokenizer.model",
                folder_ / "small" / "warm_start" / "tokenizer.model", fs::copy_options::overwrite_existing);
  const ProgramResult result = run_program({"evaluate", {"--checkpoint", path("small/warm_start")}});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("vocabulary"));
}

}  // namespace
}  // namespace kc::test
