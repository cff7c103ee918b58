#include "tests/model/reference.h"

#include <cmath>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/sort.h>

#include "model/layers_torch.h"
#include "model/model_files_torch.h"
#include "model/routing_torch.h"
#include "model/safetensors_torch.h"
#include "model/sampler_torch.h"
#include "tests/model/torch_support.h"

namespace kc {
namespace {

constexpr double kLogits = 1e-5;
constexpr double kGradients = 1e-4;
constexpr double kHalf = 1.2;

using Tensors = std::map<std::string, at::Tensor>;

struct Case {
  GptOssConfig config;
  GptOssWeights weights;
  at::Tensor ids;
  Tensors reference;
};

Case open_case(const std::filesystem::path& folder) {
  Case c;
  c.config = load_gpt_oss_config(folder / "config.json");
  c.weights = load_weights(folder, c.config, "");
  c.ids = read_safetensors(folder / "inputs.safetensors").at("ids");
  c.reference = read_safetensors(folder / "reference.safetensors");
  return c;
}

// Mean cross-entropy of the next token over the rows of kept positions.
at::Tensor kept_loss(const at::Tensor& logits, const at::Tensor& ids, const at::Tensor& kept) {
  const std::int64_t t = ids.size(1);
  const at::Tensor logprobs = at::log_softmax(logits.narrow(1, 0, t - 1), -1);
  const at::Tensor losses = logprobs.gather(2, ids.narrow(1, 1, t - 1).unsqueeze(2)).squeeze(2).neg();
  return losses.index({kept.narrow(1, 0, t - 1)}).mean();
}

double expect_gradients(Case& c) {
  double worst = 0;
  std::size_t compared = 0;
  for (const auto& [name, gradient] : gradients(c.weights)) {
    const double error = relative_error(gradient, c.reference.at("grad." + name));
    EXPECT_LE(error, kGradients) << name;
    worst = std::max(worst, error);
    ++compared;
  }
  for (const auto& [name, tensor] : c.reference) compared -= name.starts_with("grad.") ? 1 : 0;
  EXPECT_EQ(compared, 0U) << "every gradient of the reference has its counterpart";
  return worst;
}

void expect_greedy(const Case& c) {
  const std::int64_t length = std::min<std::int64_t>(8, c.ids.size(1));
  const at::Tensor& wanted = c.reference.at("greedy");
  std::vector<SampleRequest> requests;
  for (std::int64_t b = 0; b < c.ids.size(0); ++b) {
    SampleRequest& request = requests.emplace_back();
    for (std::int64_t t = 0; t < length; ++t)
      request.prompt.push_back(static_cast<TokenId>(c.ids[b][t].item<std::int64_t>()));
  }
  const auto samples = make_gpt_oss_sampler(c.config, c.weights)
                           ->sample(requests, {.temperature = 0, .max_new_tokens = wanted.size(1)}, {});
  for (std::int64_t b = 0; b < c.ids.size(0); ++b)
    for (std::int64_t t = 0; t < wanted.size(1); ++t)
      ASSERT_EQ(samples[static_cast<std::size_t>(b)][0].tokens[static_cast<std::size_t>(t)],
                wanted[b][t].item<std::int64_t>())
          << "greedy, sequence " << b << ", token " << t;
}

double root_mean_square(const at::Tensor& difference) {
  return std::sqrt(difference.to(at::kDouble).square().mean().item<double>());
}

// Share of [L, N, k] choices whose set of experts differs.
double flipped(const std::vector<at::Tensor>& taken, const at::Tensor& routing) {
  double sum = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const at::Tensor ours = std::get<0>(at::sort(taken[i], 1));
    const at::Tensor theirs = std::get<0>(at::sort(routing[static_cast<std::int64_t>(i)], 1));
    sum += ours.ne(theirs).any(1).to(at::kDouble).mean().item<double>();
  }
  return sum / static_cast<double>(taken.size());
}

}  // namespace

void Agreement::add(const Agreement& other) {
  logits = std::max(logits, other.logits);
  gradients = std::max(gradients, other.gradients);
  left_out += other.left_out;
  positions += other.positions;
}

Agreement expect_agreement(const std::filesystem::path& folder) {
  Case c = open_case(folder);
  Agreement result;
  const at::Tensor frequencies = rope_inverse_frequencies(c.config);
  // YaRN by a factor of 1 is plain RoPE here; transformers interpolates between two equal numbers, which rounds.
  if (c.config.rope_factor > 1)
    EXPECT_TRUE(frequencies.equal(c.reference.at("inverse_frequencies")));
  else
    EXPECT_LE(frequencies.div(c.reference.at("inverse_frequencies")).sub(1).abs().max().item<double>(), 1.2e-7);
  const at::Tensor kept = c.reference.at("kept").to(at::kBool);
  result.positions = kept.numel();
  result.left_out = kept.numel() - kept.sum().item<std::int64_t>();
  const bool derived = c.reference.contains("loss");
  c.weights.require_grad(derived);
  const at::Tensor logits = all_logits(c.config, c.weights, full_batch(c.ids));
  result.logits = relative_error(logits.index({kept}), c.reference.at("logits").index({kept}));
  EXPECT_LE(result.logits, kLogits);
  if (!derived) return result;
  const at::Tensor loss = kept_loss(logits, c.ids, kept);
  EXPECT_LE(relative_error(loss.reshape({1}), c.reference.at("loss")), kLogits);
  loss.backward();
  result.gradients = expect_gradients(c);
  c.weights.require_grad(false);
  expect_greedy(c);
  return result;
}

HalfAgreement expect_half_agreement(const std::filesystem::path& folder) {
  const at::NoGradGuard no_grad;
  const Case c = open_case(folder);
  const at::Tensor& exact = c.reference.at("exact");
  const at::Tensor& routing = c.reference.at("routing");
  HalfAgreement result;
  result.flipped_reference = c.reference.at("flipped").item<double>();
  {
    const RoutingProbe probe;
    all_logits(c.config, c.weights, full_batch(c.ids));
    result.flipped_ours = flipped(probe.taken(), routing);
  }
  const RoutingProbe probe(std::vector<at::Tensor>(routing.unbind(0)));
  const at::Tensor ours = all_logits(c.config, c.weights, full_batch(c.ids));
  result.ratio = root_mean_square(ours.sub(exact)) / root_mean_square(c.reference.at("logits").sub(exact));
  EXPECT_LE(result.ratio, kHalf);
  return result;
}

}  // namespace kc
