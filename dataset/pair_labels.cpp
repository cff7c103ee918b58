#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "dataset/pair_groups.h"
#include "dataset/pairs.h"

namespace kc {
namespace {

// Bootstrap copies of one measurement's rounds.
class Resampler {
 public:
  Resampler(const Measurement& measurement, RngStream rng) : original_(measurement.cases), rng_(rng) {
    copy_.task = measurement.task;
    copy_.kernel_name = measurement.kernel_name;
    copy_.cases = measurement.cases;
  }

  double next() {
    for (std::size_t c = 0; c < original_.size(); ++c) {
      const CaseTiming& from = original_[c];
      CaseTiming& to = copy_.cases[c];
      const std::size_t rounds = from.candidate_ns.size();
      const bool paired = from.reference_ns.size() == rounds;
      for (std::size_t r = 0; r < rounds; ++r) {
        const std::size_t pick = rng_.below(rounds);
        to.candidate_ns[r] = from.candidate_ns[pick];
        if (paired) to.reference_ns[r] = from.reference_ns[pick];
      }
    }
    return log2_speedup_scalar(copy_);
  }

 private:
  const std::vector<CaseTiming>& original_;
  Measurement copy_;
  RngStream rng_;
};

}  // namespace

Probabilities base_rates(const std::vector<PairRow>& rows) {
  if (rows.empty()) throw Error(ErrorKind::bad_data, "there are no pairs to take base rates of");
  Probabilities rates{};
  for (const PairRow& row : rows) rates[row.bin - 1] += 1.0 / static_cast<double>(rows.size());
  return rates;
}

Probabilities soft_label(const Store& store, const PairRow& row, int resamples, RngStream rng, Binning binning) {
  if (resamples <= 0) {
    throw Error(ErrorKind::usage, fmt::format("a soft label needs resamples, not {}", resamples));
  }
  Resampler reference(store.measurements[row.reference], rng.child("reference"));
  Resampler candidate(store.measurements[row.candidate], rng.child("candidate"));
  Probabilities label{};
  for (int i = 0; i < resamples; ++i) {
    const double log2_speedup = pair_log2(reference.next(), candidate.next());
    label[bin_of(std::exp2(log2_speedup), binning) - 1] += 1.0 / resamples;
  }
  return label;
}

PromptRequest prompt_request(const Store& store, const PairRow& row, const HardwareTable& hardware) {
  const Measurement& reference = store.measurements[row.reference];
  const Measurement& candidate = store.measurements[row.candidate];
  return {candidate.task, reference.kernel, candidate.kernel, hardware.find(candidate.provenance.device)};
}

std::string comparison_id(const Store& store, const PairRow& row) {
  const Measurement& reference = store.measurements[row.reference];
  const Measurement& candidate = store.measurements[row.candidate];
  return sha256_hex(fmt::format("{}\n{}\n{}\n{}", candidate.task, candidate.provenance.device,
                                kernel_id(reference.kernel), kernel_id(candidate.kernel)))
      .substr(0, 16);
}

}  // namespace kc
