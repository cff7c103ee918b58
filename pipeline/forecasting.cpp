#include "pipeline/forecasting.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/table.h"
#include "pipeline/resources.h"
#include "rollout/policy_forecaster.h"

namespace kc {
namespace fs = std::filesystem;

namespace {

ExperimentOptions stored_options(const fs::path& folder) {
  Config config = Config::load(folder / "config.yaml");
  ExperimentOptions options = read_experiment_options(config);
  options.prompt.template_file = folder / "prompt_template.txt";
  return options;
}

}  // namespace

OpenCheckpoint::OpenCheckpoint(const fs::path& folder) : options_(stored_options(folder)) {
  set_compute_threads(options_.run.threads);
  model_ = std::make_unique<LanguageModel>(LanguageModel::load(folder));
  encoder_ = std::make_unique<PromptEncoder>(options_.prompt, model_->shared_tokenizer());
  profile_ = read_training_profile(folder / "training_profile.json");
  if (const std::string& expected = model_->manifest().prompt_hash;
      !expected.empty() && expected != encoder_->template_hash()) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{}: prompt_template.txt is not the template that the model was trained with "
                            "(manifest.json: prompt_hash {})",
                            folder.string(), expected.substr(0, 12)));
  }
}

namespace {

bool is_define(const std::string& line) { return line.rfind("#define ", 0) == 0; }

std::pair<std::string, std::string> split_define(const std::string& line) {
  const std::string rest = line.substr(8);
  const auto space = rest.find_first_of(" \t");
  if (space == std::string::npos) return {rest, ""};
  return {rest.substr(0, space), rest.substr(rest.find_first_not_of(" \t", space))};
}

std::string language_of(const fs::path& file) {
  const std::string extension = file.extension().string();
  if (extension == ".cu" || extension == ".cuh") return "cuda";
  if (extension == ".cl") return "opencl";
  if (extension == ".py") return "python";
  return "cpp";
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string> unlike_training(const OpenCheckpoint& checkpoint, const ForecastJob& job,
                                         const std::vector<PromptRequest>& requests) {
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

KernelText read_kernel_file(const fs::path& file) {
  const std::string text = read_file(file);
  if (text.find('\0') != std::string::npos) throw Error(ErrorKind::bad_data, file.string() + ": not a text file");
  KernelText kernel;
  kernel.language = language_of(file);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (!is_define(line)) break;
    kernel.parameters.push_back(split_define(line));
    begin = std::min(end + 1, text.size());
  }
  kernel.source = text.substr(begin);
  kernel.template_id = sha256_hex(kernel.source);
  return kernel;
}

ForecastReport forecast_candidates(OpenCheckpoint& checkpoint, const ForecastJob& job, std::stop_token stop) {
  std::vector<PromptRequest> requests;
  for (const KernelText& candidate : job.candidates)
    requests.push_back({job.task, job.reference, candidate, job.hardware});
  ForecastReport report;
  report.warnings = unlike_training(checkpoint, job, requests);
  const auto forecaster =
      make_policy_forecaster(checkpoint.model().sampler(), checkpoint.encoder(), {.reading = WireFormat::direct},
                             RngStream(checkpoint.options().run.seed).child("forecast"));
  const std::vector<ForecastResult> results = forecaster->forecast(requests, stop);
  for (std::size_t i = 0; i < results.size(); ++i) {
    CandidateForecast entry;
    entry.name = job.names[i];
    entry.forecast = results[i].parsed.value();
    entry.expected_speedup = std::exp2(expected_log2_speedup(entry.forecast.p, checkpoint.profile().bin_values));
    entry.confidence = confidence(entry.forecast.p);
    entry.advice = report.warnings.empty() && entry.confidence >= job.threshold ? Advice::trust : Advice::measure;
    report.ranked.push_back(std::move(entry));
  }
  std::stable_sort(report.ranked.begin(), report.ranked.end(),
                   [](const auto& a, const auto& b) { return a.expected_speedup > b.expected_speedup; });
  return report;
}

namespace {

constexpr int kBarWidth = 24;

std::string measured_text(const CandidateForecast& entry) {
  if (entry.measured_speedup)
    return fmt::format("{:.2f}x, {}", *entry.measured_speedup, bin_name(bin_of(*entry.measured_speedup)));
  return entry.measured_status;
}

std::string bars(const CandidateForecast& entry) {
  std::string text;
  for (Bin bin = 1; bin <= kBins; ++bin) {
    const double p = entry.forecast.p[static_cast<std::size_t>(bin - 1)];
    text += fmt::format("  {:<21} {:>5.1f} %  {}\n", bin_name(bin), 100 * p, bar(p, kBarWidth));
  }
  return text;
}

}  // namespace

std::string forecast_table(const ForecastReport& report) {
  std::string text;
  for (const CandidateForecast& entry : report.ranked) text += fmt::format("{}\n{}\n", entry.name, bars(entry));
  Table table({"rank", "candidate", "expected speedup", "confidence", "advice", "measured"});
  for (std::size_t i = 0; i < report.ranked.size(); ++i) {
    const CandidateForecast& entry = report.ranked[i];
    table.add_row({std::to_string(i + 1), entry.name, fmt::format("{:.2f}x", entry.expected_speedup),
                   fmt::format("{:.2f}", entry.confidence), entry.advice == Advice::trust ? "trust" : "measure",
                   measured_text(entry)});
  }
  return text + table.render();
}

}  // namespace kc
