// evaluate: accuracy and calibration of a checkpoint on held-out pairs.
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/command_line.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "pipeline/evaluation_run.h"
#include "pipeline/forecasting.h"
#include "pipeline/resources.h"

namespace {

constexpr const char* kExamples =
    "  evaluate --checkpoint checkpoints/brier-1 --split kernels\n"
    "  evaluate --checkpoint checkpoints/pretrained --data dataset/recordings/host.h5 --out evaluation\n"
    "  evaluate --checkpoint checkpoints/brier-1 --split task --rows 400 --samples 5 --json";

struct Arguments {
  std::string checkpoint, data, split, out, reading;
  std::int64_t rows = 0, samples = 0;
};

std::string checked_reading(const std::string& reading) {
  for (const char* known : {"direct", "sampled", "compact", "tool", kc::kGuardedReading})
    if (reading == known) return reading;
  throw kc::Error(kc::ErrorKind::usage, "unknown reading '" + reading + "': expected direct, guarded or sampled");
}

kc::EvaluateOptions evaluate_options(const kc::ExperimentOptions& stored, const Arguments& arguments) {
  if (arguments.rows < 0 || (arguments.rows > 0 && arguments.rows < 8) || arguments.samples < 0) {
    throw kc::Error(kc::ErrorKind::usage,
                    fmt::format("--rows needs at least 8 pairs and --samples at least 1, found {} and {}",
                                arguments.rows, arguments.samples));
  }
  kc::EvaluateOptions options = stored.evaluate;
  if (!arguments.split.empty()) options.splits = {kc::name_of(kc::part_of(arguments.split))};
  if (!arguments.reading.empty()) options.readings = {checked_reading(arguments.reading)};
  if (arguments.rows > 0) options.rows = arguments.rows;
  if (arguments.samples > 0) options.samples = arguments.samples;
  return options;
}

int evaluate_checkpoint(const Arguments& arguments, const kc::CommonOptions& common) {
  if (kc::show_checkpoint_config(arguments.checkpoint, common)) return 0;
  kc::OpenCheckpoint checkpoint(kc::find_checkpoint(arguments.checkpoint), common);
  const kc::ExperimentOptions& stored = checkpoint.options();
  const kc::EvaluateOptions options = evaluate_options(stored, arguments);
  if (!arguments.out.empty()) kc::require_writable_folder(arguments.out);
  const auto hardware = kc::HardwareTable::load(kc::find_resource(stored.hardware_file));
  const kc::ExperimentData data(kc::find_resource(arguments.data.empty() ? stored.data.path : arguments.data),
                                stored.data);
  const kc::TrainingProfile profile =
      checkpoint.has_profile() ? checkpoint.profile() : kc::make_label_profile(data, stored.run.seed);
  const auto sets = kc::draw_evaluation_sets(data, options, hardware, stored.data.binning);
  const kc::EvaluationContext context{&checkpoint.model().sampler(), &checkpoint.encoder(), &profile, &sets, options,
                                      kc::interrupt_token()};
  const kc::ModelEvaluation evaluation = kc::evaluate_model(context);
  nlohmann::json result = {{"baselines", kc::baselines_json(context)},
                           {"checkpoint", kc::to_json(context, evaluation)}};
  if (!arguments.out.empty()) {
    kc::write_prediction_files(std::filesystem::path(arguments.out) / "predictions", "checkpoint", evaluation);
    kc::write_json_file(std::filesystem::path(arguments.out) / "evaluation.json", result);
  }
  std::cout << (common.json ? result.dump() + "\n" : kc::evaluation_tables(context, {{"", &evaluation}}));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  kc::CommandLine line("evaluate", "Judge a checkpoint on held-out pairs", kExamples, true);
  Arguments arguments;
  line.option("--checkpoint", arguments.checkpoint, "run folder or checkpoint", true)
      .option("--data", arguments.data, "measurements (HDF5); default: those of the checkpoint's config")
      .option("--split", arguments.split,
              "validation, kernels, task or device; default: those of the checkpoint's config")
      .option("--reading", arguments.reading, "direct, guarded or sampled; default: those of the checkpoint's config")
      .option("--rows", arguments.rows, "pairs drawn from each split")
      .option("--samples", arguments.samples, "completions per row of the sampled reading")
      .option("--out", arguments.out, "folder for evaluation.json, predictions and reliability diagrams");
  return line.run(argc, argv, [&] { return evaluate_checkpoint(arguments, line.common()); });
}
