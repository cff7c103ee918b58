#pragma once
// What both stages share: begin or resume, step, validate, log, save, finish.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trainer/checkpoints_torch.h"
#include "trainer/metrics_log.h"
#include "trainer/optimizer_torch.h"
#include "trainer/run.h"

namespace kc {

struct StageSettings {
  std::string stage;
  std::int64_t steps = 0;
  std::int64_t validate_every = 0;
  std::int64_t save_every = 0;
  std::int64_t log_every = 10;
  std::vector<ConsoleColumn> columns;
};

class StageLoop {
 public:
  // One optimiser step; all that it draws comes from `rng`, all that it reads from (seed, step).
  using Step = std::function<Metrics(std::int64_t step, RngStream rng)>;

  StageLoop(const TrainingContext& context, StageSettings settings, Optimizer& optimizer);
  StageResult run(const Step& step);

 private:
  StageResult load_finished(const CheckpointStore::Finished& finished);
  void begin_or_resume();
  void begin(const std::optional<CheckpointStore::Found>& latest);
  void resume(const CheckpointStore::Found& latest);
  void stop_if_asked();
  Metrics take_step(const Step& step);
  // Weights that this stage has spoilt show first in what the model says: an error that names the step.
  template <typename Result>
  Result ask_model(const std::function<Result()>& question) const;
  void validate_if_due(Metrics& metrics);
  void save_if_due();
  StageResult finish();

  bool due(std::int64_t every) const;
  void consider_best(const ValidationScore& score);

  const TrainingContext& context_;
  StageSettings settings_;
  Optimizer& optimizer_;
  CheckpointStore store_;
  StageProgress progress_;
  std::optional<ValidationScore> last_score_;
  bool best_now_ = false;
};

// Weights require gradients while it lives; afterwards they have none.
class GradientScope {
 public:
  explicit GradientScope(GptOssWeights& weights);
  ~GradientScope();
  GradientScope(const GradientScope&) = delete;
  GradientScope& operator=(const GradientScope&) = delete;

 private:
  GptOssWeights& weights_;
};

// Error{check_failed} that names the step and the quantity unless `value` is finite.
void require_finite(double value, const std::string& what, std::int64_t step);

// Seconds since its making or the last lap.
class Stopwatch {
 public:
  Stopwatch();
  double lap();

 private:
  double start_;
};

}  // namespace kc
