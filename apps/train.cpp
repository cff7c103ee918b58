// train: supervised warm start, policy gradient, evaluation before and after.
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/command_line.h"
#include "base/config.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/log.h"
#include "pipeline/training_run.h"

namespace {

constexpr const char* kExamples =
    "  train --config configs/brier.yaml                     the main job, 3 to 6 minutes on 2 cores\n"
    "  train --config configs/quick.yaml                     the whole path in about a minute\n"
    "  train --config configs/crps.yaml --set run.seed=2     another reward, another seed\n"
    "  train --resume checkpoints/brier-1                    continue an interrupted run, bit for bit\n"
    "  train --config configs/brier.yaml --set run.init=checkpoints/brier-1/warm_start --set warmup.steps=0";

// A resumed run is the stored one: its config.yaml is the config, and --set would make it another run.
kc::Config load_config(const kc::CommonOptions& common, const std::string& resume) {
  if (!resume.empty()) {
    if (common.config || !common.sets.empty()) {
      throw kc::Error(kc::ErrorKind::usage,
                      "--resume continues the run as it was configured: leave out --config and --set");
    }
    return kc::Config::load(std::filesystem::path(resume) / "config.yaml");
  }
  return kc::load_config(common);
}

void report(const kc::TrainingRunResult& result, bool json) {
  if (json) {
    std::cout << kc::read_json_file(result.run_folder / "evaluation.json").dump() << "\n";
    return;
  }
  std::cout << result.tables
            << fmt::format("\nvalidation Brier (direct): {:.4f} before stage 2, {:.4f} after; best checkpoint: {}\n",
                           result.policy.before.brier, result.policy.after.brier, result.policy.best_checkpoint);
  if (result.second_stage_made_it_worse) {
    std::cout << "note: stage 2 made the validation Brier worse; `best` names the better checkpoint of the run\n";
  }
  std::cout << "run folder: " << result.run_folder.string() << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  kc::CommandLine line("train", "Train a model to forecast kernel speedups", kExamples, true);
  std::string resume;
  line.option("--resume", resume, "run folder to continue");
  return line.run(argc, argv, [&] {
    kc::Config config = load_config(line.common(), resume);
    if (line.common().help_config || line.common().print_config) {
      const bool help = line.common().help_config;
      kc::read_experiment_options(config);
      std::cout << (help ? config.help() : config.resolved_yaml());
      return 0;
    }
    kc::ExperimentOptions options = kc::read_experiment_options(config);
    if (!resume.empty()) options.run.dir = resume;
    report(kc::run_training(options, !resume.empty(), kc::interrupt_token()), line.common().json);
    return 0;
  });
}
