#pragma once
// Pairs of ok measurements of one task and device, drawn, never stored (docs/forecasting.md, "Pairs").
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

enum class PairKind { seed, parent_edit, pair };
std::string name_of(PairKind kind);

struct PairRow {
  std::size_t reference = 0;  // index into Store::measurements
  std::size_t candidate = 0;
  PairKind kind = PairKind::pair;
  double log2_speedup = 0;  // of candidate over reference
  Bin bin = 0;
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
  // Both members of a pair come from the same part. `store` must outlive the sampler.
  PairSampler(const Store& store, const std::vector<Part>& parts, Part part);

  // count/8 rows per bin (a remainder goes to the middle bins first); within a bin water-filling over tasks: in each
  // round every task that still holds pairs gives max(1, remaining / tasks). Without replacement. Devices of a task
  // uniformly.
  PairDraw draw_balanced(const PairDrawOptions& options, RngStream rng) const;

  // Number of ordered pairs by bin.
  std::array<std::int64_t, kBins> available() const;
  std::size_t kernels() const;
  // log2 speedups of a balanced draw: for bin values and base rates of the training split.

 private:
  struct Group;  // kernels of one task and device, sorted by scalar
  const Store* store_;
  std::vector<Group> groups_;

 public:
  ~PairSampler();
};

// Share of each bin among the rows: the base-rate forecast.
Probabilities base_rates(const std::vector<PairRow>& rows);

// The distribution of the bin under a bootstrap of the rounds of both sides (resamples drawn from `rng`).
Probabilities soft_label(const Store& store, const PairRow& row, int resamples, RngStream rng,
                         Binning binning = Binning::edges);

// What a prompt is built from. Error{config} when the hardware table lacks the device.
PromptRequest prompt_request(const Store& store, const PairRow& row, const HardwareTable& hardware);

// Stable name of a row: the two kernel ids, task and device, hashed; `comparison_id` of the published formats.
std::string comparison_id(const Store& store, const PairRow& row);

}  // namespace kc
