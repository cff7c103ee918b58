#pragma once
// What the subcommands of `measure` do; each prints its result and returns the exit code.
#include <cstdint>
#include <string>
#include <vector>

#include "base/command_line.h"
#include "pipeline/devices.h"

namespace kc {

struct MeasureArguments {
  std::string tasks = "tasks";
  std::string device = "host";
  std::string token_file;
  std::string out;                    // label: the store; extract: a folder, empty: print
  std::string reuse;                  // label: a store whose labels count as measured
  std::int64_t limit = 0;             // label: candidates of each task; 0: all
  std::int64_t seed = 1;              // label: of that draw
  std::int64_t candidates = 0;        // label: budget; 0: none
  double seconds = 0;                 // label: budget; 0: none
  bool again = false;                 // label: also what is stored
  std::int64_t confirm = 0;           // label: so many of each task's fastest once more
  std::string task;                   // compare: name of a pack in `tasks`
  std::vector<std::string> files;     // compare: two kernels; extract: foreign sources
  std::string address = "127.0.0.1";  // serve
  std::int64_t port = 8377;           // serve; 0: any free one
};

int label_command(const CommonOptions& common, const MeasureArguments& arguments);
int check_command(const CommonOptions& common, const MeasureArguments& arguments);
int compare_command(const CommonOptions& common, const MeasureArguments& arguments);
int extract_command(const CommonOptions& common, const MeasureArguments& arguments);
int doctor_command(const CommonOptions& common, const MeasureArguments& arguments);
int serve_command(const CommonOptions& common, const MeasureArguments& arguments);

}  // namespace kc
