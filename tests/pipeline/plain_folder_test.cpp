// Model folders that this project did not train: config.json, weights and a vocabulary, nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "pipeline/evaluation_run.h"
#include "pipeline/forecasting.h"
#include "pipeline/pair_examples.h"
#include "pipeline/resources.h"
#include "pipeline/training_run.h"
#include "tests/support/expect_error.h"
#include "tests/support/synthetic_store.h"
#include "tests/support/temp_folder.h"
#include "tests/weights/folders.h"

namespace kc::test {
namespace {

namespace fs = std::filesystem;

// Ranks of the 256 single bytes: with them come Harmony's special tokens.
std::string byte_ranks() {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (unsigned byte = 0; byte < 256; ++byte) {
    text += kDigits[byte >> 2U];
    text += kDigits[(byte & 3U) << 4U];
    text += "== " + std::to_string(byte) + "\n";
  }
  return text;
}

class PlainFolder : public ::testing::Test {
 protected:
  PlainFolder() {
    folder_.write("bytes.tiktoken", byte_ranks());
    GptOssConfig config;
    config.hidden_size = 16;
    config.intermediate_size = 16;
    config.num_hidden_layers = 1;
    config.num_attention_heads = 2;
    config.num_key_value_heads = 1;
    config.head_dim = 8;
    config.num_local_experts = 2;
    config.num_experts_per_tok = 1;
    fs::create_directory(model_);
    LanguageModel(config, load_tokenizer(folder_ / "bytes.tiktoken"), RngStream(std::uint64_t{3})).save(model_, {});
    fs::remove(model_ / "manifest.json");
    given_.sets = {"prompt.style=diff", "prompt.max_new_tokens=3", "run.threads=1"};
  }

  ForecastJob job() const {
    ForecastJob job;
    job.task = "deepen";
    job.hardware = HardwareTable::load(find_resource("configs/hardware.yaml")).find("AMD EPYC");
    job.reference = {"cpp", "a", "int a;\n", {}};
    job.candidates = {{"cpp", "b", "int b;\n", {}}};
    job.names = {"b.cpp"};
    job.threshold = 0;
    return job;
  }

  // A run from the model that takes no step.
  void train(const std::string& run) const {
    if (!fs::exists(folder_ / "store.h5")) write_store(folder_ / "store.h5", synthetic_store());
    std::vector<std::string> sets = given_.sets;
    for (const std::string& set :
         {"run.init=" + model_.string(), "run.dir=" + (folder_ / run).string(),
          "data.path=" + (folder_ / "store.h5").string(), std::string("data.split.validation_fraction=0.2"),
          std::string("data.split.test_fraction=0.2"), std::string("warmup.steps=0"), std::string("policy.steps=0"),
          std::string("evaluate.rows=8"), std::string("evaluate.validation_rows=8"),
          std::string("evaluate.bootstrap=10"), std::string("evaluate.readings=[direct]")})
      sets.push_back(set);
    Config config = Config::defaults(sets);
    run_training(read_experiment_options(config), false, {});
  }

  TempFolder folder_;
  fs::path model_ = folder_ / "model";
  CommonOptions given_;
};

TEST_F(PlainFolder, OpensWithTheToolWireAndWhatTheProgramWasGiven) {
  const OpenCheckpoint checkpoint(find_checkpoint(model_), given_);
  EXPECT_EQ(checkpoint.encoder().wire(), WireFormat::tool);
  EXPECT_EQ(checkpoint.encoder().format().style, PromptStyle::diff);
  EXPECT_EQ(checkpoint.encoder().sampling(1).max_new_tokens, 3);
  EXPECT_FALSE(checkpoint.has_profile());
}

TEST_F(PlainFolder, IsNeverAdvisedToBeTrusted) {
  OpenCheckpoint checkpoint(model_, given_);
  ForecastJob direct = job();
  direct.reading = "direct";
  const ForecastReport report = forecast_candidates(checkpoint, direct, {});
  ASSERT_EQ(report.ranked.size(), 1U);
  EXPECT_EQ(report.ranked[0].failure, "");
  EXPECT_GT(report.ranked[0].confidence, 0.1);
  EXPECT_EQ(report.ranked[0].advice, Advice::measure);
  EXPECT_THAT(report.warnings, testing::Contains(testing::HasSubstr("training_profile.json")));
}

TEST_F(PlainFolder, ReportsASampledAnswerThatIsNoForecast) {
  OpenCheckpoint checkpoint(model_, given_);
  testing::internal::CaptureStderr();
  const ForecastReport report = forecast_candidates(checkpoint, job(), {});
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(testing::HasSubstr("sampling: 3/3 tokens at most (100 %)"),
                             testing::HasSubstr("sampling once more")));
  EXPECT_EQ(report.ranked.at(0).failure, "truncated");
  EXPECT_EQ(report.ranked[0].advice, Advice::measure);
  EXPECT_THAT(forecast_table(report), testing::HasSubstr("no forecast: truncated"));
  EXPECT_THAT(forecast_table(report), testing::HasSubstr("prompt.max_new_tokens"));
  const nlohmann::json json = to_json(report);
  EXPECT_EQ(json["candidates"][0]["failure"], "truncated");
  EXPECT_FALSE(json["candidates"][0].contains("bin_probabilities"));
}

TEST_F(PlainFolder, TakesItsVocabularyFromTheConfigWhenItHoldsNone) {
  const std::string own = load_tokenizer(model_)->hash();
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) fs::remove(model_ / name);
  EXPECT_ERROR(OpenCheckpoint(model_, given_), ErrorKind::bad_data, testing::HasSubstr("tokenizer.path"));
  EXPECT_ERROR(train("run"), ErrorKind::bad_data, testing::HasSubstr("tokenizer.path"));
  given_.sets.push_back("tokenizer.path=" + (folder_ / "bytes.tiktoken").string());
  EXPECT_EQ(OpenCheckpoint(model_, given_).model().tokenizer().hash(), own);
  train("run");
  fs::remove(folder_ / "bytes.tiktoken");  // the run's checkpoints have it
  EXPECT_EQ(OpenCheckpoint(folder_ / "run/warm_start").model().tokenizer().hash(), own);
}

TEST_F(PlainFolder, KeepsItsOwnVocabularyAndRefusesAnotherByTheConfig) {
  given_.sets.push_back("tokenizer.path=" + (folder_ / "bytes.tiktoken").string());
  EXPECT_NO_THROW(OpenCheckpoint(model_, given_)) << "the same by its hash";
  given_.sets.back() = std::string("tokenizer.path=") + KC_SOURCE_DIR + "/tests/golden/tokenizer/tiny.tiktoken";
  const auto message = testing::AllOf(testing::HasSubstr("tokenizer.path"), testing::HasSubstr("tiny.tiktoken"),
                                      testing::HasSubstr(model_.string()));
  EXPECT_ERROR(OpenCheckpoint(model_, given_), ErrorKind::config, message);
  EXPECT_ERROR(train("run"), ErrorKind::config, message);
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(PlainFolder, RefusesAVocabularyThatTheUserNamesAndThatIsNotThere) {
  const auto message = testing::AllOf(testing::HasSubstr("tokenizer.path"), testing::HasSubstr("gone.tiktoken"),
                                      testing::HasSubstr("not there"));
  given_.sets.push_back("tokenizer.path=" + (folder_ / "gone.tiktoken").string());
  EXPECT_ERROR(OpenCheckpoint(model_, given_), ErrorKind::config, message);
  EXPECT_ERROR(train("run"), ErrorKind::config, message);
  EXPECT_FALSE(fs::exists(folder_ / "run"));
  CommonOptions by_config;
  by_config.config = folder_.write("named.yaml", "tokenizer:\n  path: gone.tiktoken\n").string();
  EXPECT_ERROR(OpenCheckpoint(model_, by_config), ErrorKind::config, message);
  const std::string refused = given_.sets.back();
  given_.sets.pop_back();
  train("run");
  given_.sets = {refused};
  EXPECT_ERROR(OpenCheckpoint(folder_ / "run/warm_start", given_), ErrorKind::config, message);
}

TEST_F(PlainFolder, WithWeightsThatAreNoNumbersEndsTrainingInOneError) {
  patch(model_ / "model.safetensors", "model.norm.weight", 0, {0x00, 0x00, 0xC0, 0x7F});
  EXPECT_ERROR(train("run"), ErrorKind::bad_data, testing::HasSubstr("logits are not finite"));
}

TEST_F(PlainFolder, ARunThatWasRefusedBeforeItBeganLeavesItsFolderToTheNext) {
  given_.sets.emplace_back("prompt.max_tokens=8");
  EXPECT_ERROR(train("run"), ErrorKind::config, testing::HasSubstr("prompt.max_tokens"));
  given_.sets.pop_back();
  EXPECT_NO_THROW(train("run"));
  EXPECT_ERROR(train("run"), ErrorKind::usage, testing::HasSubstr("already holds a run"));
}

TEST_F(PlainFolder, RefusesAConfigBesideACheckpointsOwn) {
  folder_.write("model/config.yaml", "prompt: {style: diff}\n");
  CommonOptions given;
  given.config = folder_ / "model/config.yaml";
  EXPECT_ERROR(OpenCheckpoint(model_, given), ErrorKind::usage, testing::HasSubstr("--set"));
}

TEST_F(PlainFolder, IsEvaluatedBesideTheBaseRatesOfTheData) {
  write_store(folder_ / "store.h5", synthetic_store());
  DataOptions options;
  options.split.validation_fraction = 0.2;
  options.split.test_fraction = 0.2;
  const ExperimentData data(folder_ / "store.h5", options);
  const TrainingProfile profile = make_label_profile(data, 1);
  EXPECT_TRUE(profile.tasks.empty());
  EXPECT_NE(profile.base_rates, uniform_probabilities());

  OpenCheckpoint checkpoint(model_, given_);
  const auto hardware = HardwareTable::load(find_resource("configs/hardware.yaml"));
  EvaluateOptions evaluate = checkpoint.options().evaluate;
  evaluate.rows = 8;
  evaluate.samples = 1;
  evaluate.bootstrap = 10;
  evaluate.splits = {"kernels"};
  const auto sets = draw_evaluation_sets(data, evaluate, hardware, options.binning);
  const EvaluationContext context{&checkpoint.model().sampler(), &checkpoint.encoder(), &profile, &sets, evaluate, {}};
  const ModelEvaluation result = evaluate_model(context);
  EXPECT_TRUE(result.rows.contains("direct"));
  EXPECT_TRUE(result.rows.contains("tool"));
  EXPECT_FALSE(result.rows.contains("guarded"));
  for (const EvaluatedRow& row : result.rows.at("tool").at("kernels")) {
    ASSERT_FALSE(row.samples.at(0).parsed);
    EXPECT_EQ(row.samples[0].parsed.error().outcome, ParseOutcome::truncated);
  }
}

}  // namespace
}  // namespace kc::test
