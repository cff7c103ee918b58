#pragma once
// Import of JSON Lines rows: the GPU timings bundle and the published pair formats (docs/data-format.md, "Imports").
// Blocks on the disk; every failure is Error{bad_data} that names file and line.
#include <filesystem>

#include "dataset/label_store.h"

namespace kc {

struct ImportReport {
  std::int64_t rows = 0;
  std::int64_t measurements = 0;
  std::int64_t ratios = 0;
  // Published formats: stored bins that differ from the bin of the stored speedup, by either binning.
  std::int64_t bins_stored = 0;
  std::int64_t bins_disagreeing = 0;            // with Binning::edges
  std::int64_t bins_disagreeing_published = 0;  // with Binning::published
};

// `folder` holds rows_*.jsonl(.gz), kernels_*.jsonl(.gz) and tasks.json. Each kernel's text is the one that was
// compiled (compiled_text.h). A row with runtimes, or of a failed kernel, becomes a measurement without a reference
// side; each named speedup of a row without runtimes becomes a ratio.
Store import_timing_rows(const std::filesystem::path& folder, ImportReport& report);

// One file of the published evaluation set, training pool or discovery pairs. Each pair becomes a ratio of its
// candidate with its anchor (or parent) as reference; bins are taken anew from the speedups.
Store import_published_rows(const std::filesystem::path& file, ImportReport& report);

}  // namespace kc
