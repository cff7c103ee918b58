#pragma once
// Whether a core works for us alone. Where another thread of the physical core belongs to somebody else (another
// virtual machine above all), its work slows ours by a fifth or more, unequally for unlike kernels, in bursts of
// milliseconds to seconds that no priority prevents. A fixed piece of work that fills the core's units tells: it takes
// longer then (runner_main.cpp, `witness`).
#include <cstddef>
#include <cstdint>
#include <deque>

namespace kc {

struct RoundTally {
  std::size_t kept = 0;
  std::size_t disturbed = 0;  // of those, kept although the core was shared at their end
  RoundTally& operator+=(const RoundTally& other);
  double disturbed_share() const;  // 0 of no rounds
};

class QuietWatch {
 public:
  // A look: how long the witness took. Whether the core was quiet: at most 5 % over the shortest of the last 2,000 to
  // 4,000 looks, so that a clock that has changed for good counts as quiet again.
  bool add(std::int64_t witness_ns);

  // The rounds of a label, and those of the last 64 labels together: one label can meet a quiet second of a core that
  // is shared most of the time, and the next session will not.
  void remember(const RoundTally& label);
  RoundTally remembered() const;

 private:
  std::int64_t lowest_ = INT64_MAX;         // of the current block of looks
  std::int64_t lowest_before_ = INT64_MAX;  // of the block before
  std::int64_t looks_ = 0;                  // in the current block
  std::deque<RoundTally> labels_;
};

}  // namespace kc
