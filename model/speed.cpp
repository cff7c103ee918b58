#include "model/speed.h"

#include <algorithm>
#include <chrono>
#include <ctime>

#include <ATen/core/Tensor.h>
#include <ATen/ops/full.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/tensor.h>

#include "base/rng.h"
#include "model/sampler_torch.h"
#include "model/transformer_torch.h"

namespace kc {
namespace {

struct Clock {
  double wall = std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  double processor = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
};

void keep_best(SpeedRate& rate, std::int64_t tokens, const Clock& start) {
  const Clock end;
  rate.wall = std::max(rate.wall, static_cast<double>(tokens) / (end.wall - start.wall));
  rate.processor = std::max(rate.processor, static_cast<double>(tokens) / (end.processor - start.processor));
}

std::vector<SampleRequest> random_requests(const GptOssConfig& config, const SpeedOptions& options) {
  std::vector<SampleRequest> requests;
  for (std::int64_t b = 0; b < options.batch; ++b) {
    SampleRequest& request = requests.emplace_back();
    request.rng = RngStream(static_cast<std::uint64_t>(b));
    RngStream rng = request.rng.child("prompt");
    for (std::int64_t i = 0; i < options.prompt; ++i)
      request.prompt.push_back(static_cast<TokenId>(rng.below(static_cast<std::uint64_t>(config.vocab_size))));
  }
  return requests;
}

at::Tensor training_ids(const std::vector<SampleRequest>& requests) {
  std::vector<std::int64_t> ids;
  for (const SampleRequest& r : requests) ids.insert(ids.end(), r.prompt.begin(), r.prompt.end());
  return at::tensor(ids, at::kLong).view({static_cast<std::int64_t>(requests.size()), -1});
}

void training_step(const GptOssConfig& config, GptOssWeights& weights, const at::Tensor& ids) {
  const std::int64_t t = ids.size(1);
  for (auto& [name, tensor] : weights.tensors) tensor.mutable_grad().reset();
  const at::Tensor hidden = forward_hidden(config, weights, {ids, at::full({ids.size(0)}, t, at::kLong)});
  const at::Tensor logits = unembed(config, weights, hidden.narrow(1, 0, t - 1).reshape({-1, config.hidden_size}));
  const at::Tensor targets = ids.narrow(1, 1, t - 1).reshape({-1, 1});
  at::log_softmax(logits, 1).gather(1, targets).mean().neg().backward();
}

}  // namespace

Speed measure_speed(const GptOssConfig& config, const SpeedOptions& options) {
  GptOssWeights weights = init_weights(config, RngStream(std::uint64_t{1}));
  const std::vector<SampleRequest> requests = random_requests(config, options);
  const at::Tensor ids = training_ids(requests);
  const auto sampler = make_gpt_oss_sampler(config, weights);
  Speed speed;
  for (std::int64_t i = 0; i < options.rounds; ++i) {
    weights.require_grad(true);
    const Clock training_start;
    training_step(config, weights, ids);
    keep_best(speed.training, ids.numel(), training_start);
    weights.require_grad(false);
    const Clock sampling_start;
    sampler->sample(requests, {.max_new_tokens = options.new_tokens, .stop_tokens = {}, .batch_rows = options.batch},
                    {});
    keep_best(speed.sampling, options.batch * options.new_tokens, sampling_start);
  }
  return speed;
}

}  // namespace kc
