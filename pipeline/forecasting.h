#pragma once
// Forecasts for a user's own kernels: what `forecast` does.
#include <filesystem>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "forecast/forecaster.h"
#include "model/language_model.h"
#include "pipeline/experiment.h"

namespace kc {

enum class Advice { trust, measure };

struct CandidateForecast {
  std::string name;
  Forecast forecast;
  double expected_speedup = 1;  // 2^E
  double confidence = 0;        // max_b p_b
  Advice advice = Advice::measure;
  std::optional<double> measured_speedup;  // with --measure
  std::string measured_status;
};

// A checkpoint opened for use: the model, the prompt it was trained with, and what it was trained on.
class OpenCheckpoint {
 public:
  explicit OpenCheckpoint(const std::filesystem::path& folder);

  LanguageModel& model() { return *model_; }
  const PromptEncoder& encoder() const { return *encoder_; }
  const TrainingProfile& profile() const { return profile_; }
  const ExperimentOptions& options() const { return options_; }  // of the run that made it

 private:
  ExperimentOptions options_;
  std::unique_ptr<LanguageModel> model_;
  std::unique_ptr<PromptEncoder> encoder_;
  TrainingProfile profile_;
};

struct ForecastJob {
  std::string task;  // empty: unknown
  KernelText reference;
  std::vector<KernelText> candidates;
  std::vector<std::string> names;  // of the candidates
  Hardware hardware;
  double threshold = 0.6;  // confidence from which a forecast is trusted
};

struct ForecastReport {
  std::vector<CandidateForecast> ranked;  // by expected speedup, best first
  std::vector<std::string> warnings;      // how the job is unlike the training data
};

// `direct` reading. A warned job is never advised to be trusted.
ForecastReport forecast_candidates(OpenCheckpoint& checkpoint, const ForecastJob& job, std::stop_token stop);

// A source file as a kernel: its leading `#define NAME value` lines are taken as tunables, so instances of one template
// are recognised. Error{bad_data} when it cannot be read or is no text.
KernelText read_kernel_file(const std::filesystem::path& file);

std::string forecast_table(const ForecastReport& report);

}  // namespace kc
