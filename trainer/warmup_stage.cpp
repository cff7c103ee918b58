#include <cmath>

#include "trainer/schedule.h"
#include "trainer/stage_loop_torch.h"
#include "trainer/warmup_loss_torch.h"

namespace kc {
namespace {

bool every_parameter(const std::string&) { return true; }
bool not_for_muon(const std::string& name) { return !is_muon_parameter(name); }

std::unique_ptr<Optimizer> warmup_optimizer(const GptOssWeights& weights, const WarmupOptions& options) {
  const AdamOptions adam{.learning_rate = options.adam_learning_rate};
  // Muon's steps have the size that whole matrices want: an adapter's factors are stepped by Adam.
  if (options.optimizer == "adam" || !weights.adapter.empty())
    return make_adam(select_parameters(weights, every_parameter), adam);
  std::vector<std::unique_ptr<Optimizer>> parts;
  parts.push_back(make_muon(select_parameters(weights, is_muon_parameter),
                            {.learning_rate = options.muon_learning_rate, .momentum = options.momentum}));
  parts.push_back(make_adam(select_parameters(weights, not_for_muon), adam));
  return join_optimizers(std::move(parts));
}

StageSettings warmup_settings(const WarmupOptions& options) {
  return {.stage = "warmup",
          .steps = options.steps,
          .validate_every = options.validate_every,
          .save_every = options.save_every,
          .log_every = options.log_every,
          .columns = {{"loss/bin", "bin loss"},
                      {"loss/probability", "p loss"},
                      {"train/accuracy", "accuracy"},
                      {"optimizer/gradient_norm", "grad"},
                      {"optimizer/factor", "rate"},
                      {"speed/train_tokens_per_s", "tokens/s", 0},
                      {"validation/brier", "v brier", 4},
                      {"validation/accuracy", "v acc"}}};
}

WarmupBatch make_warmup_batch(const TrainingContext& context, const WarmupOptions& options,
                              const std::vector<TrainingExample>& examples, std::int64_t step, RngStream rng) {
  WarmupBatch batch;
  batch.examples = examples;
  batch.probability_weight =
      linear_ramp(options.probability_weight_start, options.probability_weight_end, step, options.steps);
  const auto rows = std::llround(options.probability_fraction * static_cast<double>(examples.size()));
  batch.answers = answer_targets(context.model->sampler(), *context.encoder, examples, rows, rng.child("answers"));
  return batch;
}

Metrics warmup_metrics(const WarmupLossReport& report, double gradient_norm, double factor, double seconds) {
  return {{"loss/bin", report.bin_loss},
          {"loss/probability", report.probability_loss},
          {"train/accuracy", report.accuracy},
          {"optimizer/gradient_norm", gradient_norm},
          {"optimizer/factor", factor},
          {"tokens/trained", static_cast<double>(report.forward_tokens)},
          {"speed/train_tokens_per_s", static_cast<double>(report.forward_tokens) / seconds}};
}

}  // namespace

StageResult run_warmup(const TrainingContext& context, const WarmupOptions& options) {
  const GradientScope gradients(context.model->weights());
  const GptOssWeights& weights = context.model->weights();
  const auto optimizer = warmup_optimizer(weights, options);
  const LearningRateSchedule schedule{options.steps, options.warmup_steps, options.flat_fraction,
                                      options.final_fraction};
  StageLoop loop(context, warmup_settings(options), *optimizer);
  return loop.run([&](std::int64_t step, RngStream rng) {
    Stopwatch watch;
    const auto examples = context.warmup_examples->batch(step, options.batch_pairs);
    const WarmupBatch batch = make_warmup_batch(context, options, examples, step, rng);
    const WarmupLossReport report = accumulate_warmup_gradient(context.model->config(), weights, *context.encoder,
                                                               batch, {options.micro_batch_rows, 0});
    require_finite(report.bin_loss + report.probability_loss, "the warm start's loss", step);
    const double gradient_norm = clip_gradients(weights, options.clip_norm);
    require_finite(gradient_norm, "the gradient's norm", step);
    optimizer->step(schedule.factor(step));
    zero_gradients(weights);
    return warmup_metrics(report, gradient_norm, schedule.factor(step), watch.lap());
  });
}

}  // namespace kc
