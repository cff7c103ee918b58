#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>

#include <algorithm>
#include <numeric>

#include "trainer/sequence_batch_torch.h"

namespace kc {
namespace {

// Trained positions as rows of the hidden states flattened to [B * T, H].
std::vector<std::int64_t> flat_positions(std::span<const TargetSequence> sequences, std::span<const std::size_t> chosen,
                                         std::int64_t width) {
  std::vector<std::int64_t> positions;
  for (std::size_t row = 0; row < chosen.size(); ++row) {
    const TargetSequence& sequence = sequences[chosen[row]];
    for (std::size_t k = 0; k < sequence.targets.size(); ++k) {
      positions.push_back(static_cast<std::int64_t>(row) * width + sequence.first_target +
                          static_cast<std::int64_t>(k));
    }
  }
  return positions;
}

at::Tensor long_tensor(std::span<const std::int64_t> values) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::TensorOptions(at::kLong));
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<std::int64_t>());
  return tensor;
}

TokenBatch padded_batch(std::span<const TargetSequence> sequences, std::span<const std::size_t> chosen,
                        std::int64_t width) {
  const auto rows = static_cast<std::int64_t>(chosen.size());
  TokenBatch batch{at::full({rows, width}, 0, at::TensorOptions(at::kLong)),
                   at::empty({rows}, at::TensorOptions(at::kLong))};
  auto* ids = batch.ids_BT.mutable_data_ptr<std::int64_t>();
  auto* lengths = batch.lengths_B.mutable_data_ptr<std::int64_t>();
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::vector<TokenId>& input = sequences[chosen[static_cast<std::size_t>(row)]].input;
    std::copy(input.begin(), input.end(), ids + row * width);
    lengths[row] = static_cast<std::int64_t>(input.size());
  }
  return batch;
}

}  // namespace

TargetSequence TargetSequence::after_prompt(const std::vector<TokenId>& prompt, const std::vector<TokenId>& answer) {
  TargetSequence sequence{prompt, answer, static_cast<std::int64_t>(prompt.size()) - 1};
  if (!answer.empty()) sequence.input.insert(sequence.input.end(), answer.begin(), answer.end() - 1);
  return sequence;
}

std::vector<std::vector<std::size_t>> micro_batches(std::span<const TargetSequence> sequences, std::int64_t rows) {
  std::vector<std::size_t> order(sequences.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return sequences[a].input.size() < sequences[b].input.size(); });
  std::vector<std::vector<std::size_t>> batches;
  const auto step = static_cast<std::size_t>(rows);
  for (std::size_t begin = 0; begin < order.size(); begin += step) {
    const std::size_t end = std::min(order.size(), begin + step);
    batches.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(begin),
                         order.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return batches;
}

namespace {

// Final-norm hidden states [N, H] at the trained positions.
at::Tensor target_hidden(const GptOssConfig& config, const GptOssWeights& weights,
                         std::span<const TargetSequence> sequences, std::span<const std::size_t> chosen) {
  std::int64_t width = 0;
  for (const std::size_t i : chosen) width = std::max(width, static_cast<std::int64_t>(sequences[i].input.size()));
  const at::Device device = weights.tensors.begin()->second.device();
  TokenBatch batch = padded_batch(sequences, chosen, width);
  batch.ids_BT = batch.ids_BT.to(device);
  const at::Tensor hidden = forward_hidden(config, weights, batch);
  const at::Tensor positions = long_tensor(flat_positions(sequences, chosen, width)).to(device);
  return hidden.reshape({-1, hidden.size(-1)}).index_select(0, positions);
}

constexpr std::int64_t kBlockNumbers = std::int64_t{1} << 24;

}  // namespace

void accumulate_over_logits(const GptOssConfig& config, const GptOssWeights& weights,
                            std::span<const TargetSequence> sequences, std::span<const std::size_t> chosen,
                            std::int64_t block_rows, const BlockLoss& loss) {
  const at::Tensor hidden = target_hidden(config, weights, sequences, chosen);
  const at::Tensor cut = hidden.detach().requires_grad_(hidden.requires_grad());
  const std::int64_t most = block_rows > 0 ? block_rows : std::max<std::int64_t>(1, kBlockNumbers / config.vocab_size);
  for (std::int64_t first = 0; first < hidden.size(0); first += most) {
    const RowBlock rows{first, std::min(most, hidden.size(0) - first)};
    loss(unembed(config, weights, cut.narrow(0, first, rows.count)), rows).backward();
  }
  if (cut.grad().defined()) hidden.backward(cut.grad());
}

at::Tensor id_tensor(std::span<const TokenId> ids, const at::Tensor& like) {
  return long_tensor(std::vector<std::int64_t>(ids.begin(), ids.end())).to(like.device());
}

at::Tensor value_tensor(std::span<const float> values, const at::Tensor& like) {
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(values.size())}, at::TensorOptions(at::kFloat));
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<float>());
  return tensor.to(like.device());
}

at::Tensor target_logprobs(const at::Tensor& logits_NV, const at::Tensor& targets_N, double temperature) {
  const at::Tensor logits = temperature == 1.0 ? logits_NV : logits_NV.div(temperature);
  return at::log_softmax(logits, -1).gather(1, targets_N.unsqueeze(1)).squeeze(1);
}

at::Tensor target_logprobs(const at::Tensor& logits_NV, const at::Tensor& rows_M, const at::Tensor& targets_M,
                           double temperature) {
  const at::Tensor logits = temperature == 1.0 ? logits_NV : logits_NV.div(temperature);
  return at::log_softmax(logits, -1).index({rows_M, targets_M});
}

}  // namespace kc
