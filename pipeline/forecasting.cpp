#include "pipeline/forecasting.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "pipeline/resources.h"
#include "rollout/policy_forecaster.h"

namespace kc {
namespace fs = std::filesystem;

namespace {

Config checkpoint_config(const fs::path& folder, const CommonOptions& given) {
  const fs::path stored = folder / "config.yaml";
  const bool ours = fs::exists(stored);
  if (ours && given.config) {
    throw Error(ErrorKind::usage, fmt::format("{} is the config that this checkpoint was trained with: leave out "
                                              "--config, and change single keys with --set",
                                              stored.string()));
  }
  return ours ? Config::load(stored, given.sets) : load_config(given);
}

ExperimentOptions checkpoint_options(const fs::path& folder, const CommonOptions& given) {
  Config config = checkpoint_config(folder, given);
  ExperimentOptions options = read_experiment_options(config);
  const fs::path kept = folder / "prompt_template.txt";
  options.prompt.template_file = fs::exists(kept) ? kept : find_resource(options.prompt.template_file);
  return options;
}

}  // namespace

namespace {

// Whether the user asks for the vocabulary now: a config that was stored with the checkpoint may name a file that is
// gone by now, since a checkpoint of ours holds the vocabulary that its config once named.
bool names_vocabulary(const fs::path& folder, const CommonOptions& given) {
  const auto is_path = [](const std::string& set) {
    return set.starts_with("tokenizer.path=") || set.starts_with("tokenizer=");
  };
  return !fs::exists(folder / "config.yaml") || std::any_of(given.sets.begin(), given.sets.end(), is_path);
}

}  // namespace

bool show_checkpoint_config(const std::string& checkpoint, const CommonOptions& given) {
  if (!given.help_config && !given.print_config) return false;
  Config config = checkpoint_config(find_checkpoint(checkpoint), given);
  read_experiment_options(config);
  return show_config(given, config);
}

OpenCheckpoint::OpenCheckpoint(const fs::path& folder, const CommonOptions& given)
    : options_(checkpoint_options(folder, given)) {
  if (names_vocabulary(folder, given)) require_vocabulary_path(options_);
  set_compute_threads(options_.run.threads);
  model_ = std::make_unique<LanguageModel>(LanguageModel::load(folder, load_options(options_)));
  if (fs::exists(find_resource(options_.vocabulary_path))) require_vocabulary(*model_, folder, options_);
  encoder_ = std::make_unique<PromptEncoder>(options_.prompt, model_->shared_tokenizer());
  has_profile_ = fs::exists(folder / "training_profile.json");
  if (has_profile_) profile_ = read_training_profile(folder / "training_profile.json");
  if (const std::string& expected = model_->manifest().prompt_hash;
      !expected.empty() && expected != encoder_->template_hash()) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: prompt_template.txt is not the template that the model was trained with "
                            "(manifest.json: prompt_hash {})",
                            folder.string(), expected.substr(0, 12)));
  }
}

namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> unlike_training(const OpenCheckpoint& checkpoint, const ForecastJob& job,
                                         const std::vector<PromptRequest>& requests) {
  if (!checkpoint.has_profile()) {
    return {
        "nothing says what this model was trained on (no training_profile.json): none of its forecasts is advised to "
        "be trusted"};
  }
  const TrainingProfile& profile = checkpoint.profile();
  std::vector<std::string> warnings;
  if (!contains(profile.tasks, job.task)) {
    warnings.push_back(job.task.empty() ? "no --task given: the model knows its tasks by name"
                                        : fmt::format("task '{}' was not in the training data ({})", job.task,
                                                      fmt::join(profile.tasks, ", ")));
  }
  if (!contains(profile.devices, job.hardware.device)) {
    warnings.push_back(fmt::format("hardware '{}' was not in the training data ({})", job.hardware.device,
                                   fmt::join(profile.devices, ", ")));
  }
  double worst = 0;
  std::size_t longest = 0;
  for (const PromptRequest& request : requests) {
    const std::vector<TokenId> prompt = checkpoint.encoder().encode(request);
    worst = std::max(worst, unseen_share(profile, prompt));
    longest = std::max(longest, prompt.size());
  }
  if (worst > profile.typical_unseen_share + 1e-9) {
    warnings.push_back(fmt::format(
        "the text is unlike the training data: {:.1f} % of its tokens never occurred there (typical: up to {:.1f} %)",
        100 * worst, 100 * profile.typical_unseen_share));
  }
  if (static_cast<std::int64_t>(longest) > profile.longest_prompt) {
    warnings.push_back(fmt::format("the prompt is longer than any seen in training ({} tokens against {})", longest,
                                   profile.longest_prompt));
  }
  return warnings;
}

}  // namespace

namespace {

WireFormat reading_of(const OpenCheckpoint& checkpoint, const std::string& name) {
  const WireFormat wire = checkpoint.encoder().wire();
  if (name == "direct") return WireFormat::direct;
  if (name == "sampled") return wire;
  if (name == "auto") return wire == WireFormat::tool ? wire : WireFormat::direct;
  throw Error(ErrorKind::usage, "unknown reading '" + name + "': expected auto, direct or sampled");
}

CandidateForecast candidate_forecast(const std::string& name, const ForecastResult& result,
                                     const TrainingProfile& profile) {
  CandidateForecast entry;
  entry.name = name;
  if (!result.parsed) {
    entry.failure = name_of(result.parsed.error().outcome);
    return entry;
  }
  entry.forecast = result.parsed.value();
  entry.expected_speedup = std::exp2(expected_log2_speedup(entry.forecast.p, profile.bin_values));
  entry.confidence = confidence(entry.forecast.p);
  return entry;
}

}  // namespace

ForecastReport forecast_candidates(OpenCheckpoint& checkpoint, const ForecastJob& job, std::stop_token stop) {
  std::vector<PromptRequest> requests;
  for (const KernelText& candidate : job.candidates)
    requests.push_back({job.task, job.reference, candidate, job.hardware});
  ForecastReport report;
  report.warnings = unlike_training(checkpoint, job, requests);
  if (!job.hardware_warning.empty()) report.warnings.insert(report.warnings.begin(), job.hardware_warning);
  const auto forecaster =
      make_policy_forecaster(checkpoint.model().sampler(), checkpoint.encoder(),
                             {.reading = reading_of(checkpoint, job.reading), .retries = 1, .progress = true},
                             RngStream(checkpoint.options().run.seed).child("forecast"));
  const std::int64_t cut_before = checkpoint.encoder().cut_prompts();
  const std::vector<ForecastResult> results = forecaster->forecast(requests, stop);
  if (const std::int64_t cut = checkpoint.encoder().cut_prompts() - cut_before; cut > 0) {
    report.warnings.push_back(
        fmt::format("{} of {} prompts are longer than prompt.max_tokens ({}) and were cut inside the "
                    "kernels",
                    cut, requests.size(), checkpoint.encoder().format().max_tokens));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    CandidateForecast entry = candidate_forecast(job.names[i], results[i], checkpoint.profile());
    const bool known = report.warnings.empty() && entry.failure.empty();
    entry.advice = known && entry.confidence >= job.threshold ? Advice::trust : Advice::measure;
    report.ranked.push_back(std::move(entry));
  }
  std::stable_sort(report.ranked.begin(), report.ranked.end(), [](const auto& a, const auto& b) {
    if (a.failure.empty() != b.failure.empty()) return a.failure.empty();
    return a.expected_speedup > b.expected_speedup;
  });
  return report;
}

}  // namespace kc
