#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "dataset/import_rows.h"
#include "dataset/ordered_lines.h"
#include "forecast/bins.h"

namespace kc {
namespace {

using nlohmann::ordered_json;

// Field names of one of the three formats.
struct Format {
  const char* id;
  const char* task;
  const char* reference;
  const char* candidate;
  const char* speedup;
  const char* bin;
};
constexpr Format kFormats[] = {
    {"comparison_id", "pack", "anchor_code", "candidate_code", "aggregated_speedup", "true_bin"},
    {"row_id", "pack", "anchor_code", "candidate_code", "aggregated_speedup", "relative_bin"},
    {"pair_id", "problem_id", "parent_code", "child_code", "g_speedup", "true_bin"},
};

const Format& format_of(const ordered_json& row) {
  for (const Format& format : kFormats) {
    if (row.contains(format.id)) return format;
  }
  throw Error(ErrorKind::bad_data,
              "the row has none of comparison_id, row_id and pair_id; expected a published format");
}

// The formats name no language: sources are either Python modules that hold kernels, or plain CUDA.
KernelText whole_kernel(const ordered_json& code) {
  const std::string text = code;
  const bool python = text.find("import ") != std::string::npos || text.find("__global__") == std::string::npos;
  return {python ? "python" : "cuda", sha256_hex(text), text, {}};
}

void count_bins(const ordered_json& row, const Format& format, double speedup, ImportReport& report) {
  const Bin edges = bin_of(speedup, Binning::edges);
  const Bin published = bin_of(speedup, Binning::published);
  if (!row.contains(format.bin) || row.at(format.bin).is_null()) return;
  const int stored = row.at(format.bin);
  ++report.bins_stored;
  if (stored != edges) ++report.bins_disagreeing;
  if (stored != published) ++report.bins_disagreeing_published;
}

RatioRow ratio_of(const ordered_json& row, const Format& format) {
  RatioRow ratio;
  ratio.task = row.at(format.task);
  ratio.device = row.at("hardware");
  ratio.kernel = whole_kernel(row.at(format.candidate));
  ratio.reference = whole_kernel(row.at(format.reference));
  ratio.baseline = row.value("pair_type", "anchor");
  ratio.value = row.at(format.speedup);
  ratio.source = fmt::format("{}:{}", row.value("source_id", ""), row.at(format.id).get<std::string>());
  return ratio;
}

}  // namespace

Store import_published_rows(const std::filesystem::path& file, ImportReport& report) {
  Store store;
  for_each_ordered_line(file, [&](const ordered_json& row) {
    ++report.rows;
    const Format& format = format_of(row);
    store.ratios.push_back(ratio_of(row, format));
    count_bins(row, format, store.ratios.back().value, report);
  });
  report.ratios += static_cast<std::int64_t>(store.ratios.size());
  return store;
}

}  // namespace kc
