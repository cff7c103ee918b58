#pragma once
// Which requests are measured in one session.
#include <cstddef>
#include <span>
#include <vector>

#include "measure/measurer.h"

namespace kc {

// Candidates that are compiled together, then timed on one secret draw of inputs.
inline constexpr std::size_t kSessionSize = 16;

// Neighbours of one task, at most kSessionSize, in order.
inline std::vector<std::span<const MeasureRequest>> split_into_sessions(std::span<const MeasureRequest> requests) {
  std::vector<std::span<const MeasureRequest>> sessions;
  for (std::size_t first = 0; first < requests.size();) {
    std::size_t end = first + 1;
    while (end < requests.size() && end - first < kSessionSize && requests[end].task == requests[first].task) ++end;
    sessions.push_back(requests.subspan(first, end - first));
    first = end;
  }
  return sessions;
}

}  // namespace kc
