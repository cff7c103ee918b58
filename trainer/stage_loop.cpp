#include <fmt/format.h>

#include <chrono>
#include <cmath>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "model/sampler.h"
#include "trainer/stage_loop_torch.h"

namespace kc {
namespace {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

[[noreturn]] void refuse_run_folder(const TrainingContext& context, const std::string& why) {
  throw Error(ErrorKind::config, fmt::format("{} holds a run {}; use another run.dir or the config that it was made by",
                                             context.run_folder.string(), why));
}

[[noreturn]] void throw_diverged(const std::string& sign, std::int64_t step) {
  throw Error(ErrorKind::check_failed,
              fmt::format("{} at step {}: training has diverged; the last checkpoint is whole, go on from it with a "
                          "lower learning rate or clip_norm",
                          sign, step));
}

}  // namespace

StageLoop::StageLoop(const TrainingContext& context, StageSettings settings, Optimizer& optimizer)
    : context_(context), settings_(std::move(settings)), optimizer_(optimizer), store_(context.run_folder) {}

StageResult StageLoop::run(const Step& step) {
  if (const auto done = store_.finished(settings_.stage)) return load_finished(*done);
  begin_or_resume();
  MetricsLog log({context_.run_folder, settings_.stage, progress_.run_step(), settings_.log_every, settings_.columns});
  while (progress_.step < settings_.steps) {
    stop_if_asked();
    Metrics metrics = take_step(step);
    validate_if_due(metrics);
    log.write(progress_.run_step(), metrics);
    save_if_due();
  }
  return finish();
}

StageResult StageLoop::load_finished(const CheckpointStore::Finished& finished) {
  if (finished.seed != context_.seed) refuse_run_folder(context_, "with another seed");
  if (finished.result.steps_done != settings_.steps) {
    refuse_run_folder(
        context_, fmt::format("whose stage '{}' ended after {} steps", settings_.stage, finished.result.steps_done));
  }
  restore_weights(store_.folder_of(finished.checkpoint), *context_.model);
  return finished.result;
}

void StageLoop::begin_or_resume() {
  const auto latest = store_.latest();
  if (latest && latest->progress.seed != context_.seed) refuse_run_folder(context_, "with another seed");
  if (latest && latest->progress.stage == settings_.stage) {
    resume(*latest);
  } else {
    begin(latest);
  }
}

void StageLoop::begin(const std::optional<CheckpointStore::Found>& latest) {
  if (latest) progress_ = latest->progress;
  progress_.first_step = latest ? latest->progress.run_step() : context_.model->manifest().step;
  progress_.stage = settings_.stage;
  progress_.step = 0;
  progress_.seconds = 0;
  progress_.seed = context_.seed;
  progress_.rng = RngStream(context_.seed).child(settings_.stage).state();
  if (context_.validate) {
    progress_.before = context_.validate();
    last_score_ = progress_.before;
    if (progress_.best_checkpoint.empty()) consider_best(progress_.before);
  }
  if (!latest) store_.save(context_, optimizer_, progress_);
  best_now_ = false;
}

void StageLoop::resume(const CheckpointStore::Found& latest) {
  progress_ = latest.progress;
  restore_weights(latest.folder, *context_.model);
  restore_optimizer(latest.folder, optimizer_);
  log::info(fmt::format("{}: continuing after step {} of {}", settings_.stage, progress_.step, settings_.steps));
}

void StageLoop::stop_if_asked() {
  if (!context_.stop.stop_requested()) return;
  store_.save(context_, optimizer_, progress_);
  throw_if_stopped(context_.stop);
}

template <typename Result>
Result StageLoop::ask_model(const std::function<Result()>& question) const {
  try {
    return question();
  } catch (const LogitsNotFinite&) {
    if (progress_.step == 0) throw;  // nothing was trained yet: it was like this
    throw_diverged("a logit is not finite", progress_.step);
  }
}

Metrics StageLoop::take_step(const Step& step) {
  Stopwatch watch;
  const RngStream rng(progress_.rng);
  Metrics metrics =
      ask_model<Metrics>([&] { return step(progress_.step, rng.child(static_cast<std::uint64_t>(progress_.step))); });
  ++progress_.step;
  const double seconds = watch.lap();
  progress_.seconds += seconds;
  metrics["time/step_s"] = seconds;
  return metrics;
}

bool StageLoop::due(std::int64_t every) const {
  return progress_.step == settings_.steps || (every > 0 && progress_.step % every == 0);
}

void StageLoop::consider_best(const ValidationScore& score) {
  if (!progress_.best_checkpoint.empty() && !(score.brier < progress_.best.brier)) return;
  progress_.best = score;
  progress_.best_checkpoint = checkpoint_name(progress_.run_step());
  best_now_ = true;
}

void StageLoop::validate_if_due(Metrics& metrics) {
  if (!context_.validate || !due(settings_.validate_every)) return;
  last_score_ = ask_model<ValidationScore>(context_.validate);
  metrics["validation/brier"] = last_score_->brier;
  metrics["validation/accuracy"] = last_score_->accuracy;
  consider_best(*last_score_);
}

void StageLoop::save_if_due() {
  if (!due(settings_.save_every) && !best_now_) return;
  Stopwatch watch;
  store_.save(context_, optimizer_, progress_);
  progress_.seconds += watch.lap();
  best_now_ = false;
}

StageResult StageLoop::finish() {
  StageResult result;
  result.steps_done = progress_.step;
  result.seconds = progress_.seconds;
  result.before = progress_.before;
  if (context_.validate) result.after = last_score_ ? *last_score_ : context_.validate();
  result.best = progress_.best;
  result.best_checkpoint = progress_.best_checkpoint;
  store_.mark_finished(settings_.stage, {result, checkpoint_name(progress_.run_step()), context_.seed});
  if (settings_.stage == "policy" && result.after.brier > result.before.brier) {
    log::warning(
        fmt::format("stage 2 made the forecasts worse: validation Brier {:.4f} before, {:.4f} after; the best "
                    "checkpoint is {}",
                    result.before.brier, result.after.brier, result.best_checkpoint));
  }
  return result;
}

GradientScope::GradientScope(GptOssWeights& weights) : weights_(weights) { weights_.require_grad(true); }

GradientScope::~GradientScope() {
  zero_gradients(weights_);
  weights_.require_grad(false);
}

void require_finite(double value, const std::string& what, std::int64_t step) {
  if (!std::isfinite(value)) throw_diverged(fmt::format("{} is {}", what, value), step);
}

Stopwatch::Stopwatch() : start_(now_s()) {}

double Stopwatch::lap() {
  const double now = now_s();
  return now - std::exchange(start_, now);
}

}  // namespace kc
