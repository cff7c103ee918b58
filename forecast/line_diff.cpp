#include "forecast/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>

namespace kc {

namespace {

using Lines = std::span<const std::string>;

std::vector<std::string> without(Lines lines, Lines matched) {
  std::unordered_map<std::string, std::size_t> left;
  for (const std::string& line : matched) ++left[line];
  std::vector<std::string> rest;
  for (const std::string& line : lines) {
    const auto it = left.find(line);
    if (it == left.end() || it->second == 0) {
      rest.push_back(line);
    } else {
      --it->second;
    }
  }
  return rest;
}

LineDifference by_subsequence(Lines a, Lines b) {
  // length[i * width + j]: longest common subsequence of a[i..] and b[j..].
  const std::size_t width = b.size() + 1;
  std::vector<std::uint32_t> length((a.size() + 1) * width, 0);
  for (std::size_t i = a.size(); i-- > 0;) {
    for (std::size_t j = b.size(); j-- > 0;) {
      length[i * width + j] = a[i] == b[j] ? length[(i + 1) * width + j + 1] + 1
                                           : std::max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  LineDifference result;
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (i < a.size() && j < b.size() && a[i] == b[j]) {
      ++i;
      ++j;
    } else if (j == b.size() || (i < a.size() && length[(i + 1) * width + j] >= length[i * width + j + 1])) {
      result.only_in_a.push_back(a[i++]);
    } else {
      result.only_in_b.push_back(b[j++]);
    }
  }
  return result;
}

}  // namespace

LineDifference line_difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t head = 0, tail = 0;
  while (head < shorter && a[head] == b[head]) ++head;
  while (tail < shorter - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail]) ++tail;
  const Lines middle_a = Lines(a).subspan(head, a.size() - head - tail);
  const Lines middle_b = Lines(b).subspan(head, b.size() - head - tail);
  if (middle_a.size() * middle_b.size() > kDiffCells) return {without(middle_a, middle_b), without(middle_b, middle_a)};
  return by_subsequence(middle_a, middle_b);
}

}  // namespace kc
