#pragma once
// What `dataset` shows, as text for people.
#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "base/command_line.h"
#include "base/config.h"
#include "dataset/compare.h"
#include "dataset/import_rows.h"
#include "dataset/inspect.h"
#include "dataset/pairs.h"

namespace kc {

struct DataOptions {
  std::string path;
  SplitOptions split;
  Binning binning = Binning::edges;
};
// Sections that other programs read may stand in a shared file: all but `used` are left alone.
void ignore_other_sections(Config& config, const std::vector<std::string>& used);

DataOptions read_data_options(Config& config);  // section `data`

std::string import_text(const ImportReport& report, const std::string& out);
nlohmann::json to_json(const ImportReport& report);
std::string summary_text(const StoreSummary& summary);
std::string comparison_text(const LabellingComparison& comparison);

struct PairView {
  std::string task;  // empty: every task
  std::int64_t count = 4;
  std::uint64_t seed = 1;
};
// Both print to stdout and return the exit code. show_split returns that of a failed check when a text stands on two
// sides.
int show_pairs(const std::string& file, const CommonOptions& common, const PairView& view);
int show_split(const CommonOptions& common);
// Whether two labellings agree; `seed` is that of the bootstrap. Prints as the others.
int show_comparison(const std::vector<std::string>& files, std::int64_t seed, bool across_devices, bool json);

}  // namespace kc
