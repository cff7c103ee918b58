#pragma once
// Pairs of ok measurements of one task and device, drawn, never stored (docs/forecasting.md, "Pairs"). Only rows that
// compare make a pair: both or neither have a reference side, and they timed the same cases. Of a kernel measured more
// than once the last row counts.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "dataset/splits.h"
#include "forecast/bins.h"
#include "forecast/prompt.h"

namespace kc {

struct PairGroup;

enum class PairKind { seed, parent_edit, pair };
std::string name_of(PairKind kind);

struct PairRow {
  std::size_t reference = 0;  // index into Store::measurements
  std::size_t candidate = 0;
  PairKind kind = PairKind::pair;
  double log2_speedup = 0;  // of candidate over reference; within 1e-12 of a bin edge it is the edge
  Bin bin = 0;              // bin_of(exp2(log2_speedup))
};

struct PairDraw {
  std::vector<PairRow> rows;                    // shuffled
  std::array<std::int64_t, kBins> shortfall{};  // rows that a bin could not give
};

struct PairDrawOptions {
  std::int64_t count = 0;
  Binning binning = Binning::edges;
  bool seed_reference_only = false;  // pairs of kind `seed` only
};

class PairSampler {
 public:
  // Both members of a pair come from the same part. Error{bad_data} when an ok row of
  // the part has no speedup (log2_speedup_scalar).
  PairSampler(const Store& store, const std::vector<Part>& parts, Part part);
  ~PairSampler();
  PairSampler(PairSampler&&) noexcept;
  PairSampler& operator=(PairSampler&&) noexcept;

  // count/8 rows per bin (a remainder goes to the middle bins first); within a bin water-filling over tasks: in each
  // round every task that still holds pairs gives max(1, remaining / tasks), then likewise over the devices of a task.
  // Without replacement. The same rng gives the same draw. 40,000 of 40 million pairs take a fraction of a second.
  PairDraw draw_balanced(const PairDrawOptions& options, RngStream rng) const;

  // Number of ordered pairs by bin.
  std::array<std::int64_t, kBins> available(Binning binning = Binning::edges) const;
  // Kernels that can stand in a pair, counted per task and device.
  std::size_t kernels() const;

 private:
  std::vector<PairGroup> groups_;
};

// Share of each bin among the rows: the base-rate forecast. Error{bad_data} without rows.
Probabilities base_rates(const std::vector<PairRow>& rows);

// The distribution of the bin under a bootstrap of the rounds of both measurements; the two sides of a round stay
// together. A measurement with one round does not vary. Error{usage} unless resamples > 0.
Probabilities soft_label(const Store& store, const PairRow& row, int resamples, RngStream rng,
                         Binning binning = Binning::edges);

// What a prompt is built from. Error{config} when the hardware table lacks the device.
PromptRequest prompt_request(const Store& store, const PairRow& row, const HardwareTable& hardware);

// Stable name of a row: the two kernel ids, task and device, hashed; `comparison_id` of the published formats.
std::string comparison_id(const Store& store, const PairRow& row);

}  // namespace kc
