#pragma once
// What every step tells: metrics.jsonl, TensorBoard events and a table on the terminal.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "trainer/tensorboard.h"

namespace kc {

using Metrics = std::map<std::string, double>;

struct ConsoleColumn {
  std::string metric;  // key; a dash is shown where a step lacks it
  std::string title;
  int decimals = 3;
};

struct MetricsLogOptions {
  std::filesystem::path run_folder;
  std::string stage;
  std::int64_t keep_through = 0;       // records of later steps belong to an interrupted run and are dropped
  std::int64_t lines_every = 10;       // steps per terminal line; 0 = none
  std::vector<ConsoleColumn> columns;  // of the terminal
};

class MetricsLog {
 public:
  explicit MetricsLog(MetricsLogOptions options);
  // `step` counts the steps of all stages, from 1. A line is {"step", "stage", metric: value ...}.
  void write(std::int64_t step, const Metrics& metrics);

 private:
  void print_line(std::int64_t step, const Metrics& metrics);
  MetricsLogOptions options_;
  JsonLinesWriter lines_;
  EventWriter events_;
  std::int64_t printed_ = 0;
};

// Rewrites metrics.jsonl without records past `step` and without an unfinished last line. Atomic.
void cut_metrics_after(const std::filesystem::path& file, std::int64_t step);

}  // namespace kc
