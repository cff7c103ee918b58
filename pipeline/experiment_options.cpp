#include <fmt/format.h>

#include "base/error.h"
#include "pipeline/experiment.h"
#include "pipeline/resources.h"

namespace kc {
namespace {

RunOptions read_run_options(Config& config) {
  ConfigSection s = config.section("run");
  RunOptions o;
  o.dir = s.text("dir", "", {.meaning = "folder of the run; empty: checkpoints/<config name>-<seed>"});
  o.seed =
      static_cast<std::uint64_t>(s.integer("seed", 1, {.meaning = "root of every random stream of the run", .min = 0}));
  o.threads = static_cast<int>(
      s.integer("threads", 2,
                {.meaning = "compute threads; the exact result depends on it; 0: all cores", .min = 0, .max = 1024}));
  o.init = s.text("init", "", {.meaning = "checkpoint or run folder to start from instead of a fresh model"});
  return o;
}

// `compact` and `tool` name the sampled reading of one wire format.
bool is_reading(const std::string& name) {
  return name == "direct" || name == "guarded" || name == "sampled" || name == "compact" || name == "tool";
}

EvaluateOptions read_evaluate_options(Config& config) {
  ConfigSection s = config.section("evaluate");
  EvaluateOptions o;
  o.rows = s.integer("rows", 800, {.meaning = "pairs drawn from each split", .unit = "pairs", .min = 8});
  o.samples = s.integer("samples", 3, {.meaning = "completions per row of the sampled reading", .min = 1, .max = 64});
  o.validation_rows =
      s.integer("validation_rows", 400, {.meaning = "pairs of the checks during training", .unit = "pairs", .min = 8});
  o.bootstrap = s.integer("bootstrap", 1000, {.meaning = "bootstrap resamples of every interval", .min = 10});
  o.seed = static_cast<std::uint64_t>(s.integer(
      "seed", 20,
      {.meaning = "draws the evaluation rows; not derived from run.seed, so runs compare on the same rows", .min = 0}));
  o.ensemble_mean =
      s.boolean("ensemble_mean", false, {.meaning = "average the parsed distributions of a row's samples"});
  o.readings =
      s.texts("readings", {"direct", "guarded", "sampled"},
              {.meaning = "ways of reading the model: direct; guarded (direct, base rates for unknown tasks and "
                          "devices); sampled (answers in the prompt's wire format: compact or tool)"});
  o.splits =
      s.texts("splits", {"kernels", "task", "device"}, {.meaning = "held-out parts to evaluate, where they exist"});
  for (const std::string& reading : o.readings) {
    if (!is_reading(reading)) s.fault("readings", "expected direct, guarded or sampled, found " + reading);
  }
  for (const std::string& split : o.splits) {
    if (split != "validation" && split != "kernels" && split != "task" && split != "device") {
      s.fault("splits", "expected validation, kernels, task or device, found " + split);
    }
  }
  return o;
}

}  // namespace

ExperimentOptions read_experiment_options(Config& config) {
  ExperimentOptions o;
  o.run = read_run_options(config);
  o.data = read_data_options(config);
  o.prompt = read_prompt_format(config);
  ConfigSection prompt = config.section("prompt");
  o.hardware_file = prompt.text("hardware", "configs/hardware.yaml", {.meaning = "table of device facts"});
  ConfigSection tokenizer = config.section("tokenizer");
  o.vocabulary_path = tokenizer.text(
      "path", "",
      {.meaning =
           "vocabulary to use as it is, of a fresh model or of a run.init folder without one: "
           "o200k_base.tiktoken, tokenizer.json, *.model, or a folder with one of them; empty: that of run.init, "
           "or one is trained"});
  o.vocabulary.size = tokenizer.integer(
      "size", 2048, {.meaning = "pieces of the vocabulary, reserved ones included", .min = 320, .max = 65536});
  o.vocabulary.split_digits =
      tokenizer.boolean("split_digits", false, {.meaning = "digits as single pieces instead of whole numbers"});
  o.vocabulary.split_words = tokenizer.boolean(
      "split_words", false, {.meaning = "pieces end at spaces; false: a piece may span `NAME value`"});
  o.vocabulary_prompts =
      tokenizer.integer("prompts", 4000, {.meaning = "training prompts that the vocabulary is trained on", .min = 16});
  o.model = read_gpt_oss_config(config);
  o.experts = read_expert_storage(config);
  o.lora = read_lora_options(config);
  o.warmup = read_warmup_options(config);
  o.policy = read_policy_options(config);
  o.reward = read_reward_options(config);
  o.evaluate = read_evaluate_options(config);
  config.ignore_section("measure");
  config.ignore_section("search");
  config.finish();
  o.config_name = config.name();
  o.config_yaml = config.resolved_yaml();
  o.config_hash = config.hash();
  return o;
}

LoadOptions load_options(const ExperimentOptions& options) {
  const std::string& path = options.vocabulary_path;
  return {.vocabulary = path.empty() ? std::filesystem::path() : find_resource(path), .experts = options.experts};
}

void require_vocabulary_path(const ExperimentOptions& options) {
  const std::string& path = options.vocabulary_path;
  if (path.empty() || std::filesystem::exists(find_resource(path))) return;
  throw Error(ErrorKind::config, fmt::format("tokenizer.path names {}, which is not there: name a vocabulary's file or "
                                             "folder, or leave tokenizer.path out",
                                             path));
}

void require_vocabulary(const LanguageModel& model, const std::filesystem::path& folder,
                        const ExperimentOptions& options) {
  if (options.vocabulary_path.empty()) return;
  const std::string named = load_tokenizer(find_resource(options.vocabulary_path))->hash();
  if (named == model.tokenizer().hash()) return;
  throw Error(ErrorKind::config,
              fmt::format("tokenizer.path names {} (SHA-256 {}), but {} holds a vocabulary of its own ({}), with which "
                          "its weights were trained: leave tokenizer.path out",
                          options.vocabulary_path, named.substr(0, 12), folder.string(),
                          model.tokenizer().hash().substr(0, 12)));
}

}  // namespace kc
