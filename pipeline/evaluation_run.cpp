#include "pipeline/evaluation_run.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/progress.h"
#include "eval/report.h"
#include "rollout/policy_forecaster.h"

namespace kc {
namespace {

constexpr std::size_t kChunkRows = 64;  // between two looks at the stop token and two progress lines

RngStream evaluation_rng(const EvaluationContext& context, const std::string& purpose) {
  return RngStream(context.options.seed).child("evaluation").child(purpose);
}

}  // namespace

EvaluationOptions evaluation_options(const EvaluationContext& context) {
  EvaluationOptions options;
  options.bin_values = context.profile->bin_values;
  options.base_rates = context.profile->base_rates;
  options.bootstrap_samples = context.options.bootstrap;
  options.ensemble_mean = context.options.ensemble_mean;
  return options;
}

EvaluationSet draw_evaluation_set(const ExperimentData& data, Part part, std::int64_t rows, std::uint64_t seed,
                                  const HardwareTable& hardware, Binning binning) {
  const PairDraw draw = data.sampler(part).draw_balanced({.count = rows, .binning = binning},
                                                         RngStream(seed).child("evaluation rows").child(name_of(part)));
  for (Bin bin = 1; bin <= kBins; ++bin) {
    const std::int64_t missing = draw.shortfall[static_cast<std::size_t>(bin - 1)];
    if (missing > 0) log::warning(fmt::format("split {}: bin {} has {} pairs too few", name_of(part), bin, missing));
  }
  EvaluationSet set{name_of(part), {}, {}};
  for (const PairRow& row : draw.rows) {
    const Measurement& reference = data.store().measurements[row.reference];
    EvaluatedRow evaluated;
    evaluated.comparison_id = comparison_id(data.store(), row);
    evaluated.task = reference.task;
    evaluated.device = reference.provenance.device;
    evaluated.truth = row.bin;
    evaluated.log2_speedup = row.log2_speedup;
    set.rows.push_back(std::move(evaluated));
    set.requests.push_back(prompt_request(data.store(), row, hardware));
  }
  return set;
}

std::vector<EvaluationSet> draw_evaluation_sets(const ExperimentData& data, const EvaluateOptions& options,
                                                const HardwareTable& hardware, Binning binning) {
  std::vector<EvaluationSet> sets;
  for (const std::string& split : options.splits) {
    const Part part = part_of(split);
    if (!data.has(part)) continue;
    sets.push_back(draw_evaluation_set(data, part, options.rows, options.seed, hardware, binning));
  }
  if (sets.empty()) {
    throw Error(ErrorKind::bad_data,
                "no split of evaluate.splits holds a pair: check data.split (dataset inspect shows counts)");
  }
  return sets;
}

std::vector<EvaluatedRow> forecast_set(const EvaluationSet& set, Forecaster& forecaster, std::int64_t samples,
                                       std::stop_token stop) {
  std::vector<EvaluatedRow> rows = set.rows;
  Progress progress(fmt::format("{} on {}", forecaster.description(), set.split),
                    static_cast<std::int64_t>(rows.size()) * samples, "forecasts");
  for (std::size_t begin = 0; begin < rows.size(); begin += kChunkRows) {
    const std::size_t count = std::min(kChunkRows, rows.size() - begin);
    for (std::int64_t sample = 0; sample < samples; ++sample) {
      auto results = forecaster.forecast(std::span(set.requests).subspan(begin, count), stop);
      for (std::size_t i = 0; i < count; ++i) rows[begin + i].samples.push_back(std::move(results[i]));
      progress.advance(static_cast<std::int64_t>(count));
    }
  }
  progress.finish();
  return rows;
}

namespace {

std::vector<EvaluatedRow> read_set(const EvaluationContext& context, const EvaluationSet& set,
                                   const std::string& reading) {
  const WireFormat wire = reading == kGuardedReading ? WireFormat::direct : wire_format_of(reading);
  const auto forecaster = make_policy_forecaster(*context.sampler, *context.encoder, {.reading = wire},
                                                 evaluation_rng(context, "forecasts " + name_of(wire)));
  const std::int64_t samples = wire == WireFormat::direct ? 1 : context.options.samples;
  std::vector<EvaluatedRow> rows = forecast_set(set, *forecaster, samples, context.stop);
  if (reading == kGuardedReading) guard(rows, *context.profile);
  return rows;
}

}  // namespace

void guard(std::vector<EvaluatedRow>& rows, const TrainingProfile& profile) {
  for (EvaluatedRow& row : rows) {
    const bool known = std::binary_search(profile.tasks.begin(), profile.tasks.end(), row.task) &&
                       std::binary_search(profile.devices.begin(), profile.devices.end(), row.device);
    if (known) continue;
    for (ForecastResult& sample : row.samples) {
      Forecast forecast;
      forecast.p = profile.base_rates;
      forecast.predicted_bin = argmax_bin(forecast.p);
      sample.parsed = forecast;
    }
  }
}

std::vector<std::string> named_readings(const std::vector<std::string>& readings, const PromptEncoder& encoder,
                                        const TrainingProfile& profile) {
  std::vector<std::string> names;
  for (const std::string& reading : readings) {
    const std::string name = reading == "sampled" ? name_of(encoder.wire()) : reading;
    if (name == kGuardedReading && profile.tasks.empty()) {
      log::warning("no reading `guarded`: nothing says which tasks and devices this model was trained on");
    } else if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(name);
    }
  }
  return names;
}

ModelEvaluation evaluate_model(const EvaluationContext& context) {
  ModelEvaluation result;
  for (const std::string& reading : named_readings(context.options.readings, *context.encoder, *context.profile)) {
    for (const EvaluationSet& set : *context.sets) {
      auto& rows = result.rows[reading][set.split];
      rows = read_set(context, set, reading);
      result.evaluations[reading][set.split] =
          evaluate(rows, evaluation_options(context), evaluation_rng(context, set.split));
    }
  }
  return result;
}

std::map<std::string, std::map<std::string, Evaluation>> evaluate_baselines(const EvaluationContext& context) {
  std::map<std::string, std::map<std::string, Evaluation>> result;
  const std::pair<const char*, Probabilities> baselines[] = {{"base_rates", context.profile->base_rates},
                                                             {"uniform", uniform_probabilities()}};
  for (const auto& [name, p] : baselines) {
    for (const EvaluationSet& set : *context.sets) {
      result[name][set.split] = evaluate(with_constant_forecast(set.rows, p), evaluation_options(context),
                                         evaluation_rng(context, set.split));
    }
  }
  return result;
}

namespace {

std::map<std::string, PairedDifference> differences_to_base_rates(const EvaluationContext& context,
                                                                  const EvaluationSet& set,
                                                                  const std::vector<EvaluatedRow>& rows) {
  return paired_differences(rows, with_constant_forecast(set.rows, context.profile->base_rates),
                            evaluation_options(context), evaluation_rng(context, "paired " + set.split));
}

}  // namespace

nlohmann::json to_json(const EvaluationContext& context, const ModelEvaluation& evaluation) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [reading, splits] : evaluation.evaluations) {
    for (const EvaluationSet& set : *context.sets) {
      nlohmann::json entry = to_json(splits.at(set.split));
      entry["paired_to_base_rates"] =
          to_json(differences_to_base_rates(context, set, evaluation.rows.at(reading).at(set.split)));
      json[reading][set.split] = std::move(entry);
    }
  }
  return json;
}

nlohmann::json baselines_json(const EvaluationContext& context) {
  nlohmann::json json = nlohmann::json::object();
  for (const auto& [name, splits] : evaluate_baselines(context)) {
    for (const auto& [split, evaluation] : splits) json[name][split] = to_json(evaluation);
  }
  return json;
}

void write_prediction_files(const std::filesystem::path& folder, const std::string& stage,
                            const ModelEvaluation& evaluation) {
  for (const auto& [reading, splits] : evaluation.rows) {
    for (const auto& [split, rows] : splits) {
      const std::string name = fmt::format("{}-{}-{}", stage, reading, split);
      write_predictions(folder / (name + ".jsonl"), rows, name);
      write_reliability_svg(folder / (name + ".svg"), evaluation.evaluations.at(reading).at(split), name);
    }
  }
}

std::string evaluation_tables(const EvaluationContext& context,
                              const std::vector<std::pair<std::string, const ModelEvaluation*>>& stages) {
  const auto baselines = evaluate_baselines(context);
  std::string text;
  for (const EvaluationSet& set : *context.sets) {
    std::vector<std::pair<std::string, const Evaluation*>> columns;
    for (const auto& [name, splits] : baselines) columns.emplace_back(name, &splits.at(set.split));
    for (const auto& [stage, evaluation] : stages) {
      for (const auto& [reading, splits] : evaluation->evaluations) {
        columns.emplace_back(stage.empty() ? reading : stage + " " + reading, &splits.at(set.split));
      }
    }
    text += fmt::format("\nsplit {}: {} pairs\n{}", set.split, set.rows.size(), evaluation_table(columns));
    for (const auto& [stage, evaluation] : stages) {
      for (const auto& [reading, splits] : evaluation->rows) {
        const std::string title = fmt::format("{} {} minus base rates, same rows", stage, reading);
        text += "\n" + differences_table(differences_to_base_rates(context, set, splits.at(set.split)), title);
      }
    }
  }
  return text;
}

}  // namespace kc
