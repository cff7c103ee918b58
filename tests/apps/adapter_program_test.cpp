// An adapter end to end through the programs: a folder that transformers wrote, with the published vocabulary, is
// trained in the `tool` format until the calls of a few prompts are memorised, then by policy gradient, then evaluated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "dataset/label_store.h"
#include "tests/support/o200k_vocabulary.h"
#include "tests/support/program.h"
#include "tests/support/python.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Whole sources, the candidate's last, so that what tells the prompts apart stands within the base model's window of
// the answer: its random attention sees little further.
constexpr const char* kTemplate = R"([system]
Forecast with {tool}.
[user]
{reference}
{candidate}
[short]
{reference}
{candidate}
)";

constexpr const char* kConfig = R"(
run: {threads: 2}
data: {split: {seed: 1, validation_fraction: 0, test_fraction: 0, held_out_tasks: [held]}}
prompt: {max_new_tokens: 160}
model: {lora: {rank: 16, alpha: 32}}
warmup: {steps: 75, batch_pairs: 4, adam_learning_rate: 1.0e-2, warmup_steps: 5, flat_fraction: 0.7, final_fraction: 0.1,
         probability_weight_start: 1, probability_weight_end: 1, validate_every: 0, save_every: 0, log_every: 5}
policy: {steps: 6, prompts_per_step: 4, group_size: 4, learning_rate: 3.0e-4, validate_every: 0,
         save_every: 0, log_every: 1}
reward: {name: correctness_brier}
evaluate: {rows: 8, samples: 1, validation_rows: 8, bootstrap: 20, splits: [task], readings: [direct, sampled]}
)";

struct Kernel {
  const char* task;
  const char* source;
  double log2_speedup;  // over the task's other kernel of the same name
};

// Two kernels a task: four prompts to memorise, and a task that stays unseen.
constexpr Kernel kKernels[] = {
    {"copy", "void run() { memcpy(destination, origin, bytes); }", 0},
    {"copy", "void run() { while (left) push(pop()); }", -0.8},
    {"sort", "void run() { radix_passes(keys, histogram); }", 0},
    {"sort", "void run() { bubble(swap, until_quiet); }", -4.5},
    {"held", "void run() { tile(16); }", 0},
    {"held", "void run() { stripe(2); }", -1},
};

Store few_kernels() {
  Store store;
  for (const Kernel& kernel : kKernels) {
    Measurement m;
    m.task = kernel.task;
    m.kernel.language = "cpp";
    m.kernel.source = kernel.source;
    m.kernel_name = kernel.source;
    m.is_seed = kernel.log2_speedup == 0;
    const auto candidate_ns = static_cast<float>(1.0e5 / std::exp2(kernel.log2_speedup));
    m.cases = {{"only", 1.0, {candidate_ns, candidate_ns, candidate_ns}, {1.0e5F, 1.0e5F, 1.0e5F}}};
    m.provenance.run_id = "synthetic";
    m.provenance.device = m.provenance.processor = "AMD EPYC";
    m.provenance.compiler = "none";
    m.provenance.harness_version = "test";
    m.provenance.started_at = "2026-01-01T00:00:00Z";
    store.measurements.push_back(m);
  }
  return store;
}

class AdapterRun : public testing::Test {
 protected:
  void SetUp() override {
    const auto vocabulary = o200k_vocabulary();
    if (!vocabulary) GTEST_SKIP() << kNoO200kVocabulary;
    if (!python_can("import torch, peft; from transformers import GptOssForCausalLM"))
      GTEST_SKIP() << "peft and transformers are not importable by " << python();
    ASSERT_TRUE(runs_silently(python() + " " KC_SOURCE_DIR "/tests/golden/make_lora.py wide " + path("base")));
    fs::copy_file(*vocabulary, folder_.path() / "base" / vocabulary->filename());
    write_store(folder_.path() / "store.h5", few_kernels());
    std::ofstream(folder_.path() / "run.yaml") << kConfig;
    std::ofstream(folder_.path() / "prompt.txt") << kTemplate;
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
  const ProgramResult trained = run_program(
      {"train",
       {"--config", path("run.yaml"), "--set", "data.path=" + path("store.h5"), "--set", "run.dir=" + path("run"),
        "--set", "run.init=" + path("base"), "--set", "prompt.template=" + path("prompt.txt")}});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;

  const std::vector<json> warmup = metrics("warmup");
  ASSERT_FALSE(warmup.empty());
  EXPECT_DOUBLE_EQ(warmup.back().at("train/accuracy").get<double>(), 1) << "the right bin of every memorised prompt";
  EXPECT_LT(warmup.back().at("loss/probability").get<double>(), 0.05);

  int stepped = 0;
  for (const json& line : metrics("policy")) stepped += line.at("optimizer/stepped") == 1 ? 1 : 0;
  EXPECT_GE(stepped, 3) << "policy steps on groups that are not constant";
  const json first = metrics("policy").front();
  EXPECT_GE(first.at("parse/ok").get<double>(), 8) << "of 16 sampled calls";

  const fs::path latest = fs::path(path("run")) / "latest";
  EXPECT_FALSE(fs::exists(latest / "model.safetensors"));
  EXPECT_TRUE(fs::exists(latest / "adapter_model.safetensors"));
  const ProgramResult evaluated =
      run_program({"evaluate", {"--checkpoint", latest.string(), "--data", path("store.h5"), "--json"}});
  ASSERT_EQ(evaluated.exit_code, 0) << evaluated.err;
  EXPECT_EQ(json::parse(evaluated.out).at("checkpoint").at("direct").at("task").at("rows"), 2);
}

}  // namespace
}  // namespace kc::test
