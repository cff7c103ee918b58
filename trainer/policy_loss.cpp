#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_softmax.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "trainer/policy_loss_torch.h"
#include "trainer/sequence_batch_torch.h"

namespace kc {
namespace {

// Sequences whose inputs are equal share one row of the forward pass: all samples of a prompt under `direct`, and equal
// samples of a confident policy.
struct SharedRows {
  std::vector<TargetSequence> rows;
  std::vector<std::vector<std::size_t>> members;  // per row, indices into the batch's sequences
};

SharedRows share_rows(const PolicyBatch& batch) {
  SharedRows shared;
  std::map<std::vector<TokenId>, std::size_t> row_of;
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    TargetSequence row = TargetSequence::after_prompt(batch.sequences[i].prompt, batch.sequences[i].tokens);
    const auto [found, is_new] = row_of.try_emplace(row.input, shared.rows.size());
    if (is_new) {
      shared.rows.push_back(std::move(row));
      shared.members.emplace_back();
    }
    shared.members[found->second].push_back(i);
  }
  return shared;
}

// Per-token values of all members of the chosen rows, and the trained position that each token reads; in that order.
struct TokenValues {
  std::vector<TokenId> logit_rows;
  std::vector<TokenId> targets;
  std::vector<float> sampler_logprobs;
  std::vector<float> advantages;
};

TokenValues token_values(const PolicyBatch& batch, const SharedRows& shared, std::span<const std::size_t> chosen) {
  TokenValues values;
  TokenId position = 0;
  for (const std::size_t row : chosen) {
    for (std::size_t k = 0; k < shared.rows[row].targets.size(); ++k, ++position) {
      for (const std::size_t i : shared.members[row]) {
        const PolicySequence& sequence = batch.sequences[i];
        values.logit_rows.push_back(position);
        values.targets.push_back(sequence.tokens[k]);
        values.sampler_logprobs.push_back(sequence.sampler_logprobs[k]);
        values.advantages.push_back(static_cast<float>(sequence.advantage));
      }
    }
  }
  return values;
}

// The values of one block's positions, counted from its first.
TokenValues of_block(const TokenValues& all, const RowBlock& rows) {
  const auto first = std::lower_bound(all.logit_rows.begin(), all.logit_rows.end(), rows.first);
  const auto last = std::lower_bound(first, all.logit_rows.end(), rows.first + rows.count);
  const auto part = [&](const auto& values) {
    return std::decay_t<decltype(values)>(values.begin() + (first - all.logit_rows.begin()),
                                          values.begin() + (last - all.logit_rows.begin()));
  };
  TokenValues values{part(all.logit_rows), part(all.targets), part(all.sampler_logprobs), part(all.advantages)};
  for (TokenId& row : values.logit_rows) row -= static_cast<TokenId>(rows.first);
  return values;
}

// Positions of the targets among the answers.
std::vector<TokenId> answer_indices(std::span<const TokenId> targets, const std::vector<TokenId>& answers) {
  std::vector<TokenId> indices;
  for (const TokenId target : targets) {
    const auto found = std::find(answers.begin(), answers.end(), target);
    if (found == answers.end()) {
      throw Error(ErrorKind::internal, fmt::format("sampled token {} is none of the answers", target));
    }
    indices.push_back(static_cast<TokenId>(found - answers.begin()));
  }
  return indices;
}

at::Tensor learner_logprobs(const at::Tensor& logits_NV, const TokenValues& values, const PolicyLossOptions& options) {
  const at::Tensor rows = id_tensor(values.logit_rows, logits_NV);
  if (options.answers.empty()) {
    return target_logprobs(logits_NV, rows, id_tensor(values.targets, logits_NV), options.temperature);
  }
  const at::Tensor logits_N8 = logits_NV.index_select(1, id_tensor(options.answers, logits_NV));
  return target_logprobs(logits_N8, rows, id_tensor(answer_indices(values.targets, options.answers), logits_NV),
                         options.temperature);
}

void add_to_report(PolicyLossReport& report, const at::Tensor& loss, const at::Tensor& dlogp_N) {
  at::NoGradGuard no_grad;
  report.loss += loss.item().toDouble();
  report.trained_tokens += dlogp_N.size(0);
  report.kl_sample_train -= dlogp_N.sum().item().toDouble();  // divided by the tokens at the end
  report.max_abs_dlogp = std::max(report.max_abs_dlogp, dlogp_N.abs().max().item().toDouble());
}

}  // namespace

at::Tensor importance_sampling_loss(const at::Tensor& logp_N, const at::Tensor& sampler_logp_N,
                                    const at::Tensor& advantage_N) {
  return logp_N.sub(sampler_logp_N).exp().mul(advantage_N).sum().neg();
}

PolicyLossReport accumulate_policy_gradient(const GptOssConfig& config, const GptOssWeights& weights,
                                            const PolicyBatch& batch, const PolicyLossOptions& options) {
  const SharedRows shared = share_rows(batch);
  PolicyLossReport report;
  for (const TargetSequence& row : shared.rows) report.forward_tokens += static_cast<std::int64_t>(row.input.size());
  for (const std::vector<std::size_t>& chosen : micro_batches(shared.rows, options.micro_batch_rows)) {
    const TokenValues values = token_values(batch, shared, chosen);
    accumulate_over_logits(
        config, weights, shared.rows, chosen, options.block_rows, [&](const at::Tensor& logits, const RowBlock& rows) {
          const TokenValues block = of_block(values, rows);
          const at::Tensor logp = learner_logprobs(logits, block, options);
          const at::Tensor sampler_logp = value_tensor(block.sampler_logprobs, logits);
          const at::Tensor loss = importance_sampling_loss(logp, sampler_logp, value_tensor(block.advantages, logits));
          add_to_report(report, loss, logp.detach().sub(sampler_logp));
          return loss;
        });
  }
  if (report.trained_tokens > 0) report.kl_sample_train /= static_cast<double>(report.trained_tokens);
  return report;
}

}  // namespace kc
