#include "base/log.h"
#include "trainer/advantages.h"
#include "trainer/policy_loss_torch.h"
#include "trainer/stage_loop_torch.h"

namespace kc {
namespace {

bool but_for_routers(const std::string& name) { return !is_router_parameter(name); }
bool with_routers(const std::string&) { return true; }

std::unique_ptr<Optimizer> policy_optimizer(const GptOssWeights& weights, const PolicyOptions& options) {
  return make_adam(select_parameters(weights, options.train_router ? with_routers : but_for_routers),
                   {options.learning_rate, options.beta1, options.beta2, options.epsilon});
}

StageSettings policy_settings(const PolicyOptions& options) {
  return {.stage = "policy",
          .steps = options.steps,
          .validate_every = options.validate_every,
          .save_every = options.save_every,
          .log_every = options.log_every,
          .columns = {{"reward/total", "reward"},
                      {"reward/correct", "correct"},
                      {"reward/calibration", "calibr."},
                      {"parse/failed", "failed", 0},
                      {"groups/kept", "kept", 0},
                      {"forecast/confidence", "confid."},
                      {"policy/entropy", "entropy"},
                      {"optimizer/gradient_norm", "grad"},
                      {"policy/kl_sample_train", "kl", 4},
                      {"speed/rollout_tokens_per_s", "roll t/s", 0},
                      {"speed/train_tokens_per_s", "train t/s", 0},
                      {"validation/brier", "v brier", 4}}};
}

std::vector<RolloutItem> policy_items(const TrainingContext& context, const PolicyOptions& options, std::int64_t step) {
  std::vector<RolloutItem> items;
  for (TrainingExample& example : context.policy_examples->batch(step, options.prompts_per_step)) {
    items.push_back({std::move(example.prompt), example.truth});
  }
  return items;
}

void warn_about(const PolicyOptions& options) {
  if (options.advantage == "grpo_std") {
    log::warning(
        "policy.advantage: grpo_std divides by the group's deviation, which is known to induce overconfidence");
  }
}

// One step of stage 2, apart from what the loop does for both stages.
class PolicyStep {
 public:
  PolicyStep(const TrainingContext& context, const PolicyOptions& options, const RewardOptions& reward,
             Optimizer& optimizer)
      : context_(context),
        options_(options),
        reward_(reward),
        optimizer_(optimizer),
        rollout_{options.group_size, options.temperature,
                 options.policy_wire == "auto" ? context.encoder->wire() : wire_format_of(options.policy_wire)},
        advantage_(advantage_kind_of(options.advantage)),
        loss_{options.temperature, options.micro_batch_rows, {}, 0} {
    if (rollout_.wire == WireFormat::direct) loss_.answers = context.encoder->bin_tokens();
  }

  Metrics take(std::int64_t step, const RngStream& rng) {
    const auto items = policy_items(context_, options_, step);
    Stopwatch watch;
    const auto groups = collect_rollouts(context_.model->sampler(), *context_.encoder, items, rollout_, reward_,
                                         rng.child("rollouts"), {});
    Metrics metrics = rollout_metrics(groups, reward_);
    const double rollout_seconds = watch.lap();
    const PolicyBatch batch = make_policy_batch(groups, advantage_, context_.encoder->stop_token());
    const PolicyLossReport report = update(batch, step, metrics);
    add_metrics(metrics, batch, report, rollout_seconds, watch.lap());
    return metrics;
  }

 private:
  // No optimiser step when no group gives a signal: old momentum alone would move the weights.
  PolicyLossReport update(const PolicyBatch& batch, std::int64_t step, Metrics& metrics) {
    metrics["optimizer/gradient_norm"] = 0;
    metrics["optimizer/stepped"] = batch.empty() ? 0 : 1;
    if (batch.empty()) return {};
    const GptOssWeights& weights = context_.model->weights();
    const PolicyLossReport report = accumulate_policy_gradient(context_.model->config(), weights, batch, loss_);
    require_finite(report.loss, "the policy loss", step);
    const double gradient_norm = clip_gradients(weights, options_.clip_norm);
    require_finite(gradient_norm, "the gradient's norm", step);
    optimizer_.step(1.0);
    zero_gradients(weights);
    metrics["optimizer/gradient_norm"] = gradient_norm;
    return report;
  }

  static void add_metrics(Metrics& metrics, const PolicyBatch& batch, const PolicyLossReport& report,
                          double rollout_seconds, double train_seconds) {
    double samples = 0;
    for (const auto& [name, value] : metrics) samples += name.starts_with("parse/") ? value : 0;
    metrics["parse/failed"] = samples - metrics["parse/ok"];
    metrics["groups/kept"] = static_cast<double>(batch.kept_groups);
    metrics["groups/dropped"] = static_cast<double>(batch.dropped_groups);
    metrics["policy/loss"] = report.loss;
    metrics["policy/kl_sample_train"] = report.kl_sample_train;
    metrics["policy/max_abs_dlogp"] = report.max_abs_dlogp;
    metrics["tokens/trained"] = static_cast<double>(report.trained_tokens);
    metrics["time/rollout_s"] = rollout_seconds;
    metrics["time/train_s"] = train_seconds;
    metrics["speed/rollout_tokens_per_s"] = metrics["tokens/sampled"] / rollout_seconds;
    metrics["speed/train_tokens_per_s"] = static_cast<double>(report.forward_tokens) / train_seconds;
  }

  const TrainingContext& context_;
  const PolicyOptions& options_;
  const RewardOptions& reward_;
  Optimizer& optimizer_;
  RolloutOptions rollout_;
  AdvantageKind advantage_;
  PolicyLossOptions loss_;
};

}  // namespace

StageResult run_policy(const TrainingContext& context, const PolicyOptions& options, const RewardOptions& reward) {
  warn_about(options);
  const GradientScope gradients(context.model->weights());
  const auto optimizer = policy_optimizer(context.model->weights(), options);
  PolicyStep policy_step(context, options, reward, *optimizer);
  StageLoop loop(context, policy_settings(options), *optimizer);
  return loop.run([&](std::int64_t step, const RngStream& rng) { return policy_step.take(step, rng); });
}

}  // namespace kc
