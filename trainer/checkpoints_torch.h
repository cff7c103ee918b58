#pragma once
// Checkpoints of a run folder: steps/NNNNNN is a model folder with what only the trainer needs in trainer/; `latest`
// and `best` are relative links, moved only after the folder they point to is complete.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/rng.h"
#include "model/language_model.h"
#include "trainer/optimizer_torch.h"
#include "trainer/run.h"

namespace kc {

// Where a stage stands: trainer/state.json.
struct StageProgress {
  std::string stage;            // "warmup" | "policy"
  std::int64_t step = 0;        // done in this stage
  std::int64_t first_step = 0;  // steps of the run before this stage
  double seconds = 0;
  std::uint64_t seed = 0;
  RngStream::State rng;  // the stage's stream; step s draws from its child(s)
  ValidationScore before;
  ValidationScore best;         // of the run so far
  std::string best_checkpoint;  // empty: nothing was validated

  std::int64_t run_step() const { return first_step + step; }
};

std::string checkpoint_name(std::int64_t run_step);  // "000600"

class CheckpointStore {
 public:
  explicit CheckpointStore(std::filesystem::path run_folder);

  struct Found {
    std::filesystem::path folder;
    StageProgress progress;
  };
  // The checkpoint that `latest` points to; none in a fresh folder. Error{bad_data} when it is damaged.
  std::optional<Found> latest() const;

  // Writes the checkpoint of `progress`, then points `latest` (and `best` when progress.best_checkpoint is this one) to
  // it, then removes all but the last two, the best and the final ones of finished stages. A kill at any moment leaves
  // `latest` at a complete checkpoint.
  void save(const TrainingContext& context, const Optimizer& optimizer, const StageProgress& progress);

  // Final result of a stage, kept in stages.json.
  struct Finished {
    StageResult result;
    std::string checkpoint;
    std::uint64_t seed = 0;
  };
  std::optional<Finished> finished(const std::string& stage) const;
  void mark_finished(const std::string& stage, const Finished& finished);

  std::filesystem::path folder_of(const std::string& name) const { return run_folder_ / "steps" / name; }

 private:
  void point(const std::string& link, const std::string& checkpoint) const;
  void prune() const;
  std::filesystem::path run_folder_;
};

// Copies a checkpoint's weights into the model, which keeps its identity (samplers stay valid). Error{bad_data} when
// vocabulary or architecture differ.
void restore_weights(const std::filesystem::path& checkpoint, LanguageModel& model);
void restore_optimizer(const std::filesystem::path& checkpoint, Optimizer& optimizer);

}  // namespace kc
