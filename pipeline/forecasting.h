#pragma once
// Forecasts for a user's own kernels: what `forecast` does.
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/command_line.h"
#include "forecast/forecaster.h"
#include "model/language_model.h"
#include "pipeline/experiment.h"
#include "pipeline/kernel_file.h"

namespace kc {

enum class Advice { trust, measure };

struct CandidateForecast {
  std::string name;
  Forecast forecast;
  std::string failure = {};     // why there is no forecast (name of the parse outcome); empty: there is one
  double expected_speedup = 1;  // 2^E
  double confidence = 0;        // max_b p_b
  Advice advice = Advice::measure;
  std::optional<double> measured_speedup;  // with --measure
  std::string measured_status;
};

// A checkpoint opened for use: the model, the prompt it was trained with, and what it was trained on. A model folder
// that this project did not train (downloaded, written by transformers) has neither config.yaml, prompt template nor
// profile: then `given` and defaults say how it is prompted.
class OpenCheckpoint {
 public:
  // `given`: --config and --set of the program; a checkpoint with a config of its own takes --set only (Error{usage}).
  explicit OpenCheckpoint(const std::filesystem::path& folder, const CommonOptions& given = {});

  LanguageModel& model() { return *model_; }
  const PromptEncoder& encoder() const { return *encoder_; }
  bool has_profile() const { return has_profile_; }
  const TrainingProfile& profile() const { return profile_; }    // without one: no tasks, uniform base rates
  const ExperimentOptions& options() const { return options_; }  // of the run that made it

 private:
  ExperimentOptions options_;
  std::unique_ptr<LanguageModel> model_;
  std::unique_ptr<PromptEncoder> encoder_;
  TrainingProfile profile_;
  bool has_profile_ = false;
};

// --help-config and --print-config of a program that opens `checkpoint`: prints and says true when one was asked for.
bool show_checkpoint_config(const std::string& checkpoint, const CommonOptions& given);

struct ForecastJob {
  std::string task;  // empty: unknown
  KernelText reference;
  std::vector<KernelText> candidates;
  std::vector<std::string> names;  // of the candidates
  Hardware hardware;
  std::string hardware_warning;  // why `hardware` only stands in for the device; empty: it does not
  double threshold = 0.6;        // confidence from which a forecast is trusted
  std::string reading = "auto";  // direct, sampled; auto: sampled in the tool wire, else direct
};

struct ForecastReport {
  std::vector<CandidateForecast> ranked;  // by expected speedup, best first; failures last
  std::vector<std::string> warnings;      // how the job is unlike the training data
};

// A warned job is never advised to be trusted, nor is any forecast of a model without a training profile. A sampled
// answer that is no forecast is asked for once more, and then is a failure.
ForecastReport forecast_candidates(OpenCheckpoint& checkpoint, const ForecastJob& job, std::stop_token stop);

std::string forecast_table(const ForecastReport& report);
nlohmann::json to_json(const ForecastReport& report);

}  // namespace kc
