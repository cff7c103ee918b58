// The parts that training, evaluation and use share.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "pipeline/evaluation_run.h"
#include "pipeline/forecasting.h"
#include "pipeline/pair_examples.h"
#include "pipeline/resources.h"
#include "tests/support/expect_error.h"
#include "tests/support/synthetic_store.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

class Experiment : public ::testing::Test {
 protected:
  Experiment() {
    write_store(folder_ / "store.h5", synthetic_store());
    options_.split.validation_fraction = 0.2;
    options_.split.test_fraction = 0.2;
    data_ = std::make_unique<ExperimentData>(folder_ / "store.h5", options_);
    format_.template_file = find_resource("configs/prompts/default.txt");
    const auto texts = vocabulary_texts(*data_, PromptTemplate::load(format_.template_file), format_, hardware_, 100,
                                        RngStream(std::uint64_t{1}));
    VocabularyOptions vocabulary;
    vocabulary.size = 400;
    vocabulary.reserved = reserved_pieces();
    encoder_ = std::make_unique<PromptEncoder>(format_, train_tokenizer(texts, vocabulary));
  }
  TempFolder folder_;
  HardwareTable hardware_ = HardwareTable::load(find_resource("configs/hardware.yaml"));
  DataOptions options_;
  PromptFormat format_;
  std::unique_ptr<ExperimentData> data_;
  std::unique_ptr<PromptEncoder> encoder_;
};

TEST_F(Experiment, ABatchDependsOnItsStepAlone) {
  const auto once = make_pair_examples(*data_, *encoder_, hardware_, RngStream(std::uint64_t{7}));
  const auto twice = make_pair_examples(*data_, *encoder_, hardware_, RngStream(std::uint64_t{7}));
  once->batch(0, 8);
  once->batch(1000, 8);  // far into another epoch
  const auto a = once->batch(3, 8);
  const auto b = twice->batch(3, 8);
  ASSERT_EQ(a.size(), 8U);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].prompt, b[i].prompt);
    EXPECT_EQ(a[i].truth, b[i].truth);
  }
}

TEST_F(Experiment, TheProfileKnowsItsOwnPromptsAndNotOthers) {
  const TrainingProfile profile = make_training_profile(*data_, *encoder_, hardware_, 1);
  EXPECT_THAT(profile.tasks, ::testing::UnorderedElementsAre("deepen", "widen"));
  EXPECT_THAT(profile.devices, ::testing::ElementsAre("AMD EPYC"));
  const auto known = make_pair_examples(*data_, *encoder_, hardware_, RngStream(std::uint64_t{2}))->batch(0, 4);
  for (const TrainingExample& example : known) EXPECT_EQ(unseen_share(profile, example.prompt), 0.0);

  PromptRequest strange;
  strange.task = "quux_zygote";
  strange.reference.source = "%%% jabberwocky @@@ 99887766\n";
  strange.candidate.source = "~~~ vorpal ### 55443322\n";
  strange.hardware = hardware_.find("NVIDIA H200");
  EXPECT_GT(unseen_share(profile, encoder_->encode(strange)), 0.3);

  write_file_atomically(folder_ / "profile.json", to_json_text(profile));
  const TrainingProfile back = read_training_profile(folder_ / "profile.json");
  EXPECT_EQ(back.seen_tokens, profile.seen_tokens);
  EXPECT_EQ(back.base_rates, profile.base_rates);
}

TEST_F(Experiment, TheGuardAnswersBaseRatesForAnUnknownTaskOnly) {
  TrainingProfile profile = make_training_profile(*data_, *encoder_, hardware_, 1);
  profile.base_rates = {0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1};
  Forecast sure;
  sure.p = one_hot(8);
  sure.predicted_bin = 8;
  ForecastResult result;
  result.parsed = sure;
  std::vector<EvaluatedRow> rows{{"a", "widen", "AMD EPYC", 8, 3.0, {result}},
                                 {"b", "unknown", "AMD EPYC", 8, 3.0, {result}},
                                 {"c", "widen", "another device", 8, 3.0, {result}}};
  guard(rows, profile);
  EXPECT_EQ(rows[0].samples.front().parsed->p, one_hot(8));
  EXPECT_EQ(rows[1].samples.front().parsed->p, profile.base_rates);
  EXPECT_EQ(rows[2].samples.front().parsed->predicted_bin, 1);
}

TEST_F(Experiment, LeadingDefinesOfAKernelFileAreItsTunables) {
  folder_.write("k.cu", "#define TILE 8\n#define WIDTH 4\n__global__ void k() {}\n");
  const KernelText kernel = read_kernel_file(folder_ / "k.cu");
  EXPECT_EQ(kernel.language, "cuda");
  EXPECT_EQ(kernel.parameters, (Parameters{{"TILE", "8"}, {"WIDTH", "4"}}));
  EXPECT_EQ(kernel.source, "__global__ void k() {}\n");
  folder_.write("binary.cpp", std::string("ab\0cd", 5));
  EXPECT_ERROR(read_kernel_file(folder_ / "binary.cpp"), ErrorKind::bad_data, ::testing::HasSubstr("binary.cpp"));
}

TEST_F(Experiment, ARunFolderWithoutACheckpointIsRefusedByName) {
  EXPECT_ERROR(find_checkpoint(folder_ / "nothing"), ErrorKind::bad_data, ::testing::HasSubstr("nothing"));
}

}  // namespace
}  // namespace kc::test
