// forecast: how fast are these candidates, and how sure are we, without measuring them?
#include <iostream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/command_line.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "pipeline/forecast_measure.h"
#include "pipeline/forecasting.h"
#include "pipeline/host_hardware.h"
#include "pipeline/resources.h"

namespace {

constexpr const char* kExamples =
    "  forecast --task matmul examples/matmul/reference.cpp examples/matmul/register_tiles.cpp\n"
    "  forecast --checkpoint checkpoints/brier-1 --task softmax --hardware \"AMD EPYC\" ref.cpp a.cpp b.cpp\n"
    "  forecast --task matmul --measure ref.cpp a.cpp        truth beside forecast, on this machine";

struct Arguments {
  std::string checkpoint = "checkpoints/pretrained";
  std::string hardware, hardware_file = "configs/hardware.yaml", task, tasks = "tasks", reading = "auto";
  std::vector<std::string> files;
  double threshold = 0.6;
  bool measure = false;
};

kc::ForecastJob read_job(const Arguments& arguments) {
  if (!(arguments.threshold >= 0 && arguments.threshold <= 1)) {
    throw kc::Error(kc::ErrorKind::usage,
                    fmt::format("--threshold is a confidence in [0, 1], found {}", arguments.threshold));
  }
  if (arguments.files.size() < 2) {
    throw kc::Error(kc::ErrorKind::usage, "give the reference kernel's file and at least one candidate's");
  }
  const auto hardware = kc::HardwareTable::load(kc::find_resource(arguments.hardware_file));
  kc::ForecastJob job;
  job.task = arguments.task;
  if (arguments.hardware.empty()) {
    kc::HostHardware host = kc::host_hardware(hardware, kc::host_device_name(), kc::generic_device_names());
    job.hardware = std::move(host.hardware), job.hardware_warning = std::move(host.warning);
  } else {
    job.hardware = hardware.find(arguments.hardware);
  }
  job.threshold = arguments.threshold;
  job.reading = arguments.reading;
  job.reference = kc::read_kernel_file(arguments.files.front());
  for (std::size_t i = 1; i < arguments.files.size(); ++i) {
    job.names.push_back(arguments.files[i]);
    job.candidates.push_back(kc::read_kernel_file(arguments.files[i]));
  }
  return job;
}

int forecast(const Arguments& arguments, const kc::CommonOptions& common) {
  if (kc::show_checkpoint_config(arguments.checkpoint, common)) return 0;
  const kc::ForecastJob job = read_job(arguments);
  kc::OpenCheckpoint checkpoint(kc::find_checkpoint(arguments.checkpoint), common);
  kc::ForecastReport report = kc::forecast_candidates(checkpoint, job, kc::interrupt_token());
  for (const std::string& warning : report.warnings) kc::log::warning(warning);
  if (arguments.measure) kc::measure_candidates(kc::find_resource(arguments.tasks), job, report, kc::interrupt_token());
  std::cout << (common.json ? to_json(report).dump() + "\n" : kc::forecast_table(report));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  kc::CommandLine line("forecast", "Forecast the speedup of candidate kernels over a reference kernel", kExamples,
                       true);
  Arguments arguments;
  line.option("files", arguments.files, "reference kernel, then candidates", true)
      .option("--checkpoint", arguments.checkpoint, "run folder or checkpoint")
      .option("--task", arguments.task, "what the kernels compute, as the training data names it")
      .option("--hardware", arguments.hardware, "device name or alias; default: this machine's processor")
      .option("--hardware-file", arguments.hardware_file, "table of device facts")
      .option("--threshold", arguments.threshold, "confidence from which a forecast is trusted")
      .option("--reading", arguments.reading, "direct, sampled, or auto: sampled where the model answers by tool calls")
      .flag("--measure", arguments.measure, "measure the candidates on this machine as well")
      .option("--tasks", arguments.tasks, "task packs that --measure looks the task up in");
  return line.run(argc, argv, [&] { return forecast(arguments, line.common()); });
}
