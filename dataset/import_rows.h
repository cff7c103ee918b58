#pragma once
// (bundle format: docs/data-format.md)
// Import of the JSON Lines rows of the GPU timings bundle and of the published row formats.
#include <filesystem>

#include "dataset/label_store.h"

namespace kc {

struct ImportReport {
  std::int64_t rows = 0;
  std::int64_t measurements = 0;
  std::int64_t ratios = 0;
  std::int64_t bins_disagreeing = 0;  // stored bins that differ from the bin of the stored speedup (published formats)
};

// `folder` holds rows_*.jsonl(.gz), kernels_*.jsonl(.gz) and tasks.json. Each kernel's text is the one that was
// compiled (defines, `#line 1`, loop_unroll_factor and `#pragma unroll` rules of the bundle). Error{bad_data} names
// file and line.
Store import_timing_rows(const std::filesystem::path& folder, ImportReport& report);

}  // namespace kc
