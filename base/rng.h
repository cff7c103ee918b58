#pragma once
// Named, splittable, counter-based random streams. Nothing in the project draws from a global or clock-seeded
// generator: a stream is an argument, made from the run's seed and named children of it.
//
// The i-th draw of a stream is a pure function of (key, i): Philox 4x32-10 (Salmon et al., "Parallel random numbers:
// as easy as 1, 2, 3", SC 2011). A child's key mixes the parent's key with the child's name, so adding a consumer
// never shifts the draws of another. Not thread-safe: give each thread its own child.
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace kc {

class RngStream {
 public:
  // What must be stored to continue a stream exactly.
  struct State {
    std::uint64_t key = 0;
    std::uint64_t counter = 0;
    bool operator==(const State&) const = default;
  };

  explicit RngStream(std::uint64_t seed);
  explicit RngStream(State state) : state_(state) {}

  // An independent stream; does not advance this one.
  RngStream child(std::string_view name) const;
  RngStream child(std::uint64_t index) const;

  State state() const { return state_; }

  std::uint64_t next_u64();
  double uniform();                          // [0, 1), 53 bits
  double normal();                           // mean 0, deviation 1 (Box-Muller, two draws each call)
  std::uint64_t below(std::uint64_t bound);  // [0, bound), unbiased; bound > 0

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  State state_;
};

}  // namespace kc
