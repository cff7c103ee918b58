#pragma once
// The warm start's loss: the bin token against the label, and the probability tokens against the model's own forecast.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "model/transformer_torch.h"
#include "rollout/prompt_encoder.h"
#include "trainer/run.h"

namespace kc {

// What a row adds to its prompt when it also trains the rest of a `compact` answer. (In the `tool` wire every row
// trains a whole call that states label_probabilities of its label.)
struct AnswerTarget {
  Bin stated_bin = 0;              // fed after the prompt; drawn from the forecast as the policy would
  std::array<int, kBins> steps{};  // the model's direct forecast at this step, in steps of 5 %
};

struct WarmupBatch {
  std::span<const TrainingExample> examples;
  std::vector<AnswerTarget> answers;  // of the first answers.size() examples
  double probability_weight = 0;
};

struct WarmupLossOptions {
  std::int64_t micro_batch_rows = 32;
  std::int64_t block_rows = 0;  // accumulate_over_logits
};

struct WarmupLossReport {
  double bin_loss = 0;          // mean cross-entropy of the bin token over the whole vocabulary
  double probability_loss = 0;  // mean cross-entropy of the other trained tokens; 0 without any
  double accuracy = 0;          // share of rows whose likeliest of the eight bins is the label
  std::int64_t forward_tokens = 0;
};

// Adds the gradient of bin_loss + probability_weight * probability_loss to the weights' gradients. Both are means over
// the whole batch, whatever the micro-batches.
WarmupLossReport accumulate_warmup_gradient(const GptOssConfig& config, const GptOssWeights& weights,
                                            const PromptEncoder& encoder, const WarmupBatch& batch,
                                            const WarmupLossOptions& options);

// Targets for the first `rows` examples out of the current model's direct reading (no gradient); none where the wire is
// not `compact`.
std::vector<AnswerTarget> answer_targets(Sampler& sampler, const PromptEncoder& encoder,
                                         std::span<const TrainingExample> examples, std::int64_t rows, RngStream rng);

}  // namespace kc
