#pragma once
// A model judged on held-out pairs, beside forecasts that need no model.
#include <filesystem>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "eval/evaluation.h"
#include "pipeline/experiment.h"

namespace kc {

struct EvaluationSet {
  std::string split;
  std::vector<EvaluatedRow> rows;       // without samples
  std::vector<PromptRequest> requests;  // row i's prompt
};

// Draws `options.rows` pairs from every split of `options.splits` that holds any, by options.seed.
std::vector<EvaluationSet> draw_evaluation_sets(const ExperimentData& data, const EvaluateOptions& options,
                                                const HardwareTable& hardware, Binning binning);
EvaluationSet draw_evaluation_set(const ExperimentData& data, Part part, std::int64_t rows, std::uint64_t seed,
                                  const HardwareTable& hardware, Binning binning);

// Rows of a set with `samples` forecasts each. Shows progress; blocks; throws Error{interrupted}.
std::vector<EvaluatedRow> forecast_set(const EvaluationSet& set, Forecaster& forecaster, std::int64_t samples,
                                       std::stop_token stop);

// The reading `guarded`: the direct reading, with the base rates of the training split in place of every forecast for a
// task or a device that the model was not trained on. A model is overconfident there; this one knows that it does not
// know.
inline constexpr const char* kGuardedReading = "guarded";
void guard(std::vector<EvaluatedRow>& rows, const TrainingProfile& profile);

// Everything about one state of a model: by reading, by split.
struct ModelEvaluation {
  std::map<std::string, std::map<std::string, std::vector<EvaluatedRow>>> rows;  // [reading][split]
  std::map<std::string, std::map<std::string, Evaluation>> evaluations;          // [reading][split]
};

// Readings under the names that results carry: `sampled` becomes the wire format's own name and drops out where that is
// `direct`; `guarded` drops out, with a warning, where nothing says what the model was trained on.
std::vector<std::string> named_readings(const std::vector<std::string>& readings, const PromptEncoder& encoder,
                                        const TrainingProfile& profile);

struct EvaluationContext {
  Sampler* sampler = nullptr;
  const PromptEncoder* encoder = nullptr;
  const TrainingProfile* profile = nullptr;
  const std::vector<EvaluationSet>* sets = nullptr;
  EvaluateOptions options;
  std::stop_token stop;
};

// How metrics and differences are computed in this context.
EvaluationOptions evaluation_options(const EvaluationContext& context);

ModelEvaluation evaluate_model(const EvaluationContext& context);

// base_rates and uniform on the same rows: [baseline][split].
std::map<std::string, std::map<std::string, Evaluation>> evaluate_baselines(const EvaluationContext& context);

// evaluation.json's entry of a state: {reading: {split: {metric: {value, low, high, n}}}}, and the paired differences
// to the base rates under "paired_to_base_rates".
nlohmann::json to_json(const EvaluationContext& context, const ModelEvaluation& evaluation);
nlohmann::json baselines_json(const EvaluationContext& context);

// predictions/<stage>-<reading>-<split>.jsonl and reliability diagrams beside them.
void write_prediction_files(const std::filesystem::path& folder, const std::string& stage,
                            const ModelEvaluation& evaluation);

// Tables for the terminal: one per split, a column per baseline and (stage, reading), paired differences to base rates
// below.
std::string evaluation_tables(const EvaluationContext& context,
                              const std::vector<std::pair<std::string, const ModelEvaluation*>>& stages);

}  // namespace kc
