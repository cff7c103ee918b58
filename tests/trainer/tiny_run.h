#pragma once
// A model of a few thousand parameters, toy examples and a run folder: the whole of a training run in milliseconds.
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/transformer_torch.h"
#include "rollout/policy_forecaster.h"
#include "rollout/rollout.h"
#include "tests/support/temp_folder.h"
#include "trainer/run.h"

namespace kc::test {

inline std::shared_ptr<const Tokenizer> tiny_tokenizer() {
  static const std::shared_ptr<const Tokenizer> tokenizer =
      train_tokenizer({"tile 16\nunroll 4\n", "tile 32\nunroll 8\n", "vector 2\n"},
                      {.size = 320, .split_digits = false, .reserved = reserved_pieces()});
  return tokenizer;
}

inline GptOssConfig tiny_config() {
  GptOssConfig config;
  config.hidden_size = 32;
  config.intermediate_size = 32;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 2;
  config.num_key_value_heads = 1;
  config.head_dim = 16;
  config.num_local_experts = 3;
  config.num_experts_per_tok = 2;
  config.sliding_window = 4;
  config.vocab_size = tiny_tokenizer()->vocabulary_size();
  return config;
}

inline LanguageModel tiny_model(std::uint64_t seed = 1) {
  return LanguageModel(tiny_config(), tiny_tokenizer(), RngStream(seed).child("model"));
}

inline PromptEncoder tiny_encoder(WireFormat wire = WireFormat::compact) {
  PromptFormat format;
  format.template_file = std::string(KC_SOURCE_DIR) + "/configs/prompts/default.txt";
  format.wire = wire;
  return PromptEncoder(format, tiny_tokenizer());
}

// Prompts of a few tokens of which one names the bin; lengths differ so that batches are padded.
class ToyExamples final : public ExampleSource {
 public:
  explicit ToyExamples(std::uint64_t seed) : rng_(seed) {}

  std::vector<TrainingExample> batch(std::int64_t step, std::int64_t count) const override {
    RngStream rng = rng_.child(static_cast<std::uint64_t>(step));
    std::vector<TrainingExample> examples;
    for (std::int64_t i = 0; i < count; ++i) {
      const Bin truth = static_cast<Bin>(rng.below(kBins)) + 1;
      examples.push_back(example(truth, static_cast<std::size_t>(rng.below(3))));
    }
    return examples;
  }

  static TrainingExample example(Bin truth, std::size_t padding) {
    std::vector<TokenId> prompt = tiny_tokenizer()->encode(std::string(padding, 'x'), false);
    prompt.push_back(static_cast<TokenId>(100 + truth));
    prompt.push_back(tiny_tokenizer()->id_of(kAnswerPiece));
    return {prompt, truth};
  }

 private:
  RngStream rng_;
};

// Mean Brier score and accuracy of the direct reading over the eight kinds.
inline ValidationScore toy_score(LanguageModel& model, const PromptEncoder& encoder) {
  std::vector<std::vector<TokenId>> prompts;
  for (Bin bin = 1; bin <= kBins; ++bin) prompts.push_back(ToyExamples::example(bin, 1).prompt);
  const auto logprobs = model.sampler().next_token_logprobs(prompts, encoder.bin_tokens(), {});
  ValidationScore score;
  for (Bin bin = 1; bin <= kBins; ++bin) {
    const Probabilities p = read_direct(logprobs[static_cast<std::size_t>(bin - 1)]).p;
    double squares = 0;
    for (Bin b = 1; b <= kBins; ++b) squares += std::pow(p[b - 1] - (b == bin ? 1.0 : 0.0), 2);
    score.brier += squares / 2 / kBins;
    score.accuracy += argmax_bin(p) == bin ? 1.0 / kBins : 0.0;
  }
  return score;
}

// Everything that a stage needs, alive together.
struct TinyRun {
  explicit TinyRun(std::filesystem::path folder, WireFormat wire = WireFormat::compact)
      : model(tiny_model()), encoder(tiny_encoder(wire)) {
    context.model = &model;
    context.encoder = &encoder;
    context.warmup_examples = &examples;
    context.policy_examples = &examples;
    context.validate = [this] { return toy_score(model, encoder); };
    context.run_folder = std::move(folder);
  }
  TinyRun(const TinyRun&) = delete;
  TinyRun& operator=(const TinyRun&) = delete;

  static WarmupOptions warmup(std::int64_t steps) {
    WarmupOptions options;
    options.steps = steps;
    options.batch_pairs = 16;
    options.warmup_steps = 3;
    options.validate_every = 4;
    options.save_every = 3;
    options.log_every = 1000000;
    return options;
  }
  static PolicyOptions policy(std::int64_t steps) {
    PolicyOptions options;
    options.steps = steps;
    options.prompts_per_step = 4;
    options.group_size = 6;
    options.learning_rate = 1e-3;
    options.validate_every = 4;
    options.save_every = 3;
    options.log_every = 1000000;
    return options;
  }

  LanguageModel model;
  PromptEncoder encoder;
  ToyExamples examples{5};
  TrainingContext context;
};

}  // namespace kc::test
