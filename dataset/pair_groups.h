#pragma once
// The index behind PairSampler: kernels sorted by speedup, so that the candidates of one bin are a range.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "dataset/label_store.h"
#include "dataset/splits.h"
#include "forecast/bins.h"

namespace kc {

// The comparable kernels of one task and device.
struct PairGroup {
  std::string task;
  std::string device;
  std::vector<std::size_t> rows;  // indices into the store, by rising scalar (ties by index)
  std::vector<double> scalars;    // log2_speedup_scalar of each
  std::vector<bool> is_seed;
};

// Ordered by task, device and cases.
std::vector<PairGroup> pair_groups(const Store& store, const std::vector<Part>& parts, Part part);

// candidate - reference, snapped to a bin edge within 1e-12: two logarithms of a speedup that is exactly an edge differ
// by rounding only, and the edges belong to the lower bin.
double pair_log2(double reference, double candidate);

// All ordered pairs of a group, numbered within each bin by reference, then candidate.
class PairRanks {
 public:
  PairRanks(const PairGroup& group, Binning binning, bool seed_reference_only);

  std::uint64_t count(Bin bin) const { return ends_[bin - 1].empty() ? 0 : ends_[bin - 1].back(); }

  struct Place {  // positions in PairGroup::rows
    std::size_t reference = 0;
    std::size_t candidate = 0;
  };
  Place at(Bin bin, std::uint64_t rank) const;  // rank < count(bin)

 private:
  std::array<std::vector<std::uint32_t>, kBins> begins_;  // by reference: first candidate position of the bin
  std::array<std::vector<std::uint64_t>, kBins> ends_;    // by reference: pairs of this and all earlier references
  Bin own_bin_;                                           // of a kernel against itself, which is no pair
};

}  // namespace kc
