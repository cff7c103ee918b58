// An adapter end to end through the programs: a folder that transformers wrote, with the published vocabulary, is
// trained in the `tool` format until the calls of a few prompts are memorised, then by policy gradient, then evaluated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/support/o200k_vocabulary.h"
#include "tests/support/program.h"
#include "tests/support/synthetic_store.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Of nine kernels the split leaves two texts for training: four prompts.
constexpr const char* kConfig = R"(
run: {threads: 2}
data: {split: {seed: 3, validation_fraction: 0.7, test_fraction: 0}}
prompt: {style: diff, max_new_tokens: 160}
model: {lora: {rank: 16, alpha: 32}}
warmup: {steps: 60, batch_pairs: 4, adam_learning_rate: 1.0e-2, warmup_steps: 5, flat_fraction: 0.5, final_fraction: 0.1,
         probability_weight_start: 4, probability_weight_end: 4, validate_every: 0, save_every: 30, log_every: 10}
policy: {steps: 5, prompts_per_step: 4, group_size: 4, learning_rate: 3.0e-4, validate_every: 0, save_every: 0, log_every: 1}
reward: {name: correctness_brier}
evaluate: {rows: 8, samples: 1, validation_rows: 8, bootstrap: 20, splits: [validation], readings: [direct, sampled]}
)";

std::string python() {
  const fs::path own = fs::path(KC_SOURCE_DIR) / ".venv/bin/python3";
  return fs::exists(own) ? own.string() : "python3";
}

bool runs(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

class AdapterRun : public testing::Test {
 protected:
  void SetUp() override {
    const auto vocabulary = o200k_vocabulary();
    if (!vocabulary) GTEST_SKIP() << kNoO200kVocabulary;
    if (!runs(python() + " -c 'import torch, peft; from transformers import GptOssForCausalLM'"))
      GTEST_SKIP() << "peft and transformers are not importable by " << python();
    ASSERT_TRUE(runs(python() + " " KC_SOURCE_DIR "/tests/golden/make_lora.py wide " + path("base")));
    fs::copy_file(*vocabulary, folder_.path() / "base" / vocabulary->filename());
    write_store(folder_.path() / "store.h5", synthetic_store(3));
    std::ofstream(folder_.path() / "run.yaml") << kConfig;
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  std::vector<json> metrics(const std::string& stage) const {
    std::vector<json> lines;
    for_each_json_line(path("run") + "/metrics.jsonl", [&](const json& line, std::size_t) {
      if (line.at("stage") == stage) lines.push_back(line);
    });
    return lines;
  }
  TempFolder folder_;
};

TEST_F(AdapterRun, MemorisesCallsThenTakesPolicyStepsThenIsEvaluated) {
  const ProgramResult trained = run_program({"train",
                                             {"--config", path("run.yaml"), "--set", "data.path=" + path("store.h5"),
                                              "--set", "run.dir=" + path("run"), "--set", "run.init=" + path("base")}});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  std::cout << trained.err << trained.out;

  const std::vector<json> warmup = metrics("warmup");
  ASSERT_FALSE(warmup.empty());
  EXPECT_EQ(warmup.back().at("train/accuracy"), 1.0) << "the right bin of every memorised prompt";
  EXPECT_LT(warmup.back().at("loss/probability").get<double>(), 0.05);

  int stepped = 0;
  for (const json& line : metrics("policy")) stepped += line.at("optimizer/stepped") == 1 ? 1 : 0;
  EXPECT_GE(stepped, 3) << "policy steps on groups that are not constant";
  const json first = metrics("policy").front();
  EXPECT_GE(first.at("parse/ok").get<double>(), 12) << "of 16 sampled calls";

  const fs::path latest = fs::path(path("run")) / "latest";
  EXPECT_FALSE(fs::exists(latest / "model.safetensors"));
  EXPECT_TRUE(fs::exists(latest / "adapter_model.safetensors"));
  const ProgramResult evaluated =
      run_program({"evaluate", {"--checkpoint", latest.string(), "--data", path("store.h5"), "--json"}});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  std::cout << evaluated.out;
}

}  // namespace
}  // namespace kc::test
