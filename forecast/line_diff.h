#pragma once
#include <string>
#include <vector>

namespace kc {

struct LineDifference {
  std::vector<std::string> only_in_a;  // in order
  std::vector<std::string> only_in_b;
};

// Lines outside a longest common subsequence. Above kDiffCells line pairs (after common ends are cut) lines are matched
// as multisets instead, so that time and memory stay bounded.
inline constexpr std::size_t kDiffCells = 4'000'000;
LineDifference line_difference(const std::vector<std::string>& a, const std::vector<std::string>& b);

}  // namespace kc
