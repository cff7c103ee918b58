#include "pipeline/training_run.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "forecast/scoring_rules.h"
#include "model/language_model.h"
#include "pipeline/evaluation_run.h"
#include "pipeline/pair_examples.h"
#include "pipeline/resources.h"
#include "rollout/policy_forecaster.h"

namespace kc {
namespace fs = std::filesystem;
namespace {

// Everything that the steps of a run share; built once, in order.
struct Session {
  const ExperimentOptions& options;
  fs::path folder;
  std::stop_token stop;
  RngStream rng;
  HardwareTable hardware;
  ExperimentData data;
  std::unique_ptr<LanguageModel> model;
  std::unique_ptr<PromptEncoder> encoder;
  TrainingProfile profile;
  std::vector<EvaluationSet> sets;
  EvaluationSet validation;
};

// What a run leaves that was refused before it began: nothing to continue, and the next one may take its place.
bool holds_only_a_config(const fs::path& folder) {
  const auto files = fs::directory_iterator(folder);
  return std::all_of(begin(files), end(files),
                     [](const fs::directory_entry& entry) { return entry.path().filename() == "config.yaml"; });
}

// Changes nothing on disk: whatever is wrong with the data is found before a run folder exists.
void check_run_folder_is_free(const fs::path& folder, bool resume) {
  const bool exists = fs::exists(folder / "config.yaml");
  if (!resume && exists && !holds_only_a_config(folder)) {
    throw Error(ErrorKind::usage,
                fmt::format("{} already holds a run: continue it with `train --resume {}`, or give another folder with "
                            "`--set run.dir=DIR`",
                            folder.string(), folder.string()));
  }
  if (resume && !exists) {
    throw Error(ErrorKind::usage, fmt::format("nothing to resume: {} holds no config.yaml of a run", folder.string()));
  }
  if (resume) check_run_folder(folder);
}

void claim_run_folder(const ExperimentOptions& options, const fs::path& folder) {
  const fs::path stored = folder / "config.yaml";
  if (!fs::exists(stored) || holds_only_a_config(folder)) write_file_atomically(stored, options.config_yaml);
}

std::shared_ptr<const Tokenizer> prepare_vocabulary(const Session& session) {
  if (has_tokenizer(session.folder)) return load_tokenizer(session.folder);
  if (!session.options.vocabulary_path.empty()) {
    std::shared_ptr<const Tokenizer> given = load_tokenizer(find_resource(session.options.vocabulary_path));
    given->save(session.folder);
    return given;
  }
  const PromptFormat& format = session.options.prompt;
  const auto prompt_template = PromptTemplate::load(find_resource(format.template_file));
  const std::vector<std::string> texts =
      vocabulary_texts(session.data, prompt_template, format, session.hardware, session.options.vocabulary_prompts,
                       session.rng.child("vocabulary"));
  VocabularyOptions options = session.options.vocabulary;
  options.reserved = reserved_pieces();
  std::shared_ptr<const Tokenizer> tokenizer = train_tokenizer(texts, options);
  tokenizer->save(session.folder);
  log::info(fmt::format("vocabulary: {} pieces from {} training prompts", tokenizer->vocabulary_size(), texts.size()));
  return tokenizer;
}

// Weights, gradients and two moments, all fp32: what training holds at least.
void require_memory(const GptOssConfig& model) {
  const double needed_gb = 16.0 * static_cast<double>(model.parameter_count()) / 1e9;
  const double machine_gb =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE)) / 1e9;
  if (needed_gb <= machine_gb) return;
  throw Error(ErrorKind::config,
              fmt::format("a model of {} parameters needs {:.0f} GB to train, this machine has {:.0f} GB: make the "
                          "sizes of section model smaller",
                          model.parameter_count(), needed_gb, machine_gb));
}

void open_initial_model(Session& session) {
  const fs::path init = find_checkpoint(session.options.run.init);
  require_vocabulary_path(session.options);
  session.model = std::make_unique<LanguageModel>(LanguageModel::load(init, load_options(session.options)));
  require_vocabulary(*session.model, init, session.options);
  if (session.options.lora.on()) session.model->add_adapter(session.options.lora, session.rng.child("adapter"));
  log::info("starting from " + init.string());
  if (session.model->config().experts == ExpertStorage::mxfp4 && !session.model->has_adapter())
    log::warning(
        "the experts are MXFP4 and stay as they are; model.experts: bf16 expands them, so that they are trained");
}

void prepare_model(Session& session) {
  if (!session.options.run.init.empty()) {
    open_initial_model(session);
    claim_run_folder(session.options, session.folder);
  } else {
    if (session.options.lora.on())
      throw Error(ErrorKind::config, "model.lora.rank is above 0 without run.init: an adapter needs a stored base");
    if (session.options.experts == ExpertStorage::mxfp4)
      throw Error(ErrorKind::config,
                  "model.experts: mxfp4 is for a checkpoint given by run.init: a fresh model's experts are trained");
    require_memory(session.options.model);
    if (!has_tokenizer(session.folder)) require_vocabulary_path(session.options);
    claim_run_folder(session.options, session.folder);
    session.model = std::make_unique<LanguageModel>(session.options.model, prepare_vocabulary(session),
                                                    session.rng.child("weights"));
  }
  PromptFormat format = session.options.prompt;
  format.template_file = find_resource(format.template_file);
  session.encoder = std::make_unique<PromptEncoder>(format, session.model->shared_tokenizer());
  const std::string& trained_with = session.model->manifest().prompt_hash;
  if (!trained_with.empty() && trained_with != session.encoder->template_hash()) {
    log::warning("the checkpoint of run.init was trained with another prompt template: its forecasts may not parse");
  }
}

ValidationScore validate(const Session& session) {
  const auto forecaster = make_policy_forecaster(session.model->sampler(), *session.encoder,
                                                 {.reading = WireFormat::direct}, session.rng.child("validation"));
  const std::vector<ForecastResult> results = forecaster->forecast(session.validation.requests, session.stop);
  ValidationScore score;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Bin truth = session.validation.rows[i].truth;
    const Forecast forecast = results[i].parsed ? *results[i].parsed : Forecast{};  // a failure counts as uniform
    score.brier += brier_score(forecast.p, truth);
    score.accuracy += forecast.predicted_bin == truth ? 1 : 0;
  }
  const auto n = static_cast<double>(std::max<std::size_t>(results.size(), 1));
  return {score.brier / n, score.accuracy / n};
}

TrainingContext training_context(Session& session, const ExampleSource& warmup, const ExampleSource& policy) {
  TrainingContext context;
  context.model = session.model.get();
  context.encoder = session.encoder.get();
  context.warmup_examples = &warmup;
  context.policy_examples = &policy;
  context.validate = [&session] { return validate(session); };
  context.run_folder = session.folder;
  context.manifest.data_hash = session.data.store().content_hash;
  context.manifest.config_hash = session.options.config_hash;
  context.manifest.prompt_hash = session.encoder->template_hash();
  context.manifest.parent = session.model->manifest().weights_hash;
  context.checkpoint_files = {{"config.yaml", session.options.config_yaml},
                              {"prompt_template.txt", read_file(find_resource(session.options.prompt.template_file))},
                              {"training_profile.json", to_json_text(session.profile)}};
  context.seed = session.options.run.seed;
  context.stop = session.stop;
  return context;
}

EvaluationContext evaluation_context(const Session& session) {
  return {&session.model->sampler(), session.encoder.get(), &session.profile, &session.sets,
          session.options.evaluate,  session.stop};
}

// The state that stage 2 starts from, under its own name: several rewards can start from one.
void keep_warm_start(const Session& session, const TrainingContext& context) {
  AtomicFolder folder(session.folder / "warm_start");
  for (const auto& [name, text] : context.checkpoint_files) write_file_atomically(folder.staging() / name, text);
  Manifest manifest = context.manifest;
  manifest.stage = "warmup";
  manifest.step = session.options.warmup.steps;
  session.model->save(folder.staging(), manifest);
  folder.commit();
}

// Stage 1, or its result when a resumed run is past it.
StageResult warm_start(Session& session, const TrainingContext& context) {
  const fs::path kept = session.folder / "warm_start";
  StageResult result;
  if (fs::exists(kept / "manifest.json")) {
    if (session.model->has_adapter())
      session.model->restore_adapter(kept);
    else
      *session.model = LanguageModel::load(kept, load_options(session.options));
    log::info("stage 1 is done: continuing from " + kept.string());
    return result;
  }
  result = run_warmup(context, session.options.warmup);
  keep_warm_start(session, context);
  return result;
}

ModelEvaluation evaluate_stage(const Session& session, const std::string& stage) {
  ModelEvaluation evaluation = evaluate_model(evaluation_context(session));
  write_prediction_files(session.folder / "predictions", stage, evaluation);
  return evaluation;
}

void write_evaluation(const Session& session, const ModelEvaluation& before, const ModelEvaluation& after) {
  const EvaluationContext context = evaluation_context(session);
  nlohmann::json json;
  json["baselines"] = baselines_json(context);
  json["before"] = to_json(context, before);
  json["after"] = to_json(context, after);
  nlohmann::json& paired = json["after_minus_before"];
  const EvaluationOptions options = evaluation_options(context);
  for (const auto& [reading, splits] : after.rows) {
    for (const auto& [split, rows] : splits) {
      paired[reading][split] = to_json(paired_differences(rows, before.rows.at(reading).at(split), options,
                                                          session.rng.child("after minus before").child(split)));
    }
  }
  write_json_file(session.folder / "evaluation.json", json);
}

Session open_session(const ExperimentOptions& options, const fs::path& folder, std::stop_token stop) {
  return {options,
          folder,
          stop,
          RngStream(options.run.seed).child("run"),
          HardwareTable::load(find_resource(options.hardware_file)),
          ExperimentData(find_resource(options.data.path), options.data),
          nullptr,
          nullptr,
          {},
          {},
          {}};
}

void draw_evaluation_rows(Session& session) {
  const EvaluateOptions& evaluate = session.options.evaluate;
  const Binning binning = session.options.data.binning;
  session.sets = draw_evaluation_sets(session.data, evaluate, session.hardware, binning);
  session.validation =
      draw_evaluation_set(session.data, session.data.has(Part::validation) ? Part::validation : Part::train,
                          evaluate.validation_rows, evaluate.seed, session.hardware, binning);
}

}  // namespace

fs::path run_folder_of(const ExperimentOptions& options) {
  if (!options.run.dir.empty()) return options.run.dir;
  return project_root() / "checkpoints" / fmt::format("{}-{}", options.config_name, options.run.seed);
}

TrainingRunResult run_training(const ExperimentOptions& options, bool resume, std::stop_token stop) {
  TrainingRunResult result;
  result.run_folder = run_folder_of(options);
  check_run_folder_is_free(result.run_folder, resume);
  set_compute_threads(options.run.threads);

  Session session = open_session(options, result.run_folder, stop);
  prepare_model(session);
  session.profile = make_training_profile(session.data, *session.encoder, session.hardware, options.run.seed);
  draw_evaluation_rows(session);
  const auto warmup_examples =
      make_pair_examples(session.data, *session.encoder, session.hardware, session.rng.child("warmup pairs"));
  const auto policy_examples =
      make_pair_examples(session.data, *session.encoder, session.hardware, session.rng.child("policy pairs"));
  const TrainingContext context = training_context(session, *warmup_examples, *policy_examples);

  result.warmup = warm_start(session, context);
  const ModelEvaluation before = evaluate_stage(session, "before");
  result.policy = run_policy(context, options.policy, options.reward);
  const ModelEvaluation after = evaluate_stage(session, "after");
  write_evaluation(session, before, after);

  result.second_stage_made_it_worse = result.policy.after.brier > result.policy.before.brier;
  result.tables = evaluation_tables(evaluation_context(session), {{"before", &before}, {"after", &after}});
  return result;
}

}  // namespace kc
