#include "serve/cutting.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "base/printable.h"
#include "serve/protocol.h"

namespace kc {
namespace {

constexpr std::size_t kEnvelope = 4096;  // what stands around the candidates: id, task, fingerprint

std::size_t length_of(const MeasureRequest& request) {
  const std::size_t length = to_text(request.candidate, request.task->name).size();
  if (length + kEnvelope <= kMaxJobBytes) return length;
  throw Error(
      ErrorKind::bad_data,
      fmt::format("task '{}': candidate '{}' takes {} bytes as JSON, and a job for a server at most {}: make its "
                  "source shorter, or measure it on a device of this machine",
                  request.task->name, printable(request.candidate.name), length, kMaxJobBytes - kEnvelope));
}

bool go_together(const MeasureRequest& a, const MeasureRequest& b) { return a.task == b.task && a.fresh == b.fresh; }

}  // namespace

std::vector<std::size_t> cut_into_jobs(std::span<const MeasureRequest> requests, std::size_t most, std::size_t bytes) {
  std::vector<std::size_t> ends;
  bytes = std::min(bytes, kMaxJobBytes - kEnvelope);
  std::size_t first = 0, filled = 0;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const std::size_t length = length_of(requests[i]);
    const bool fits = i - first < most && filled + length <= bytes && go_together(requests[first], requests[i]);
    if (i > first && !fits) {
      ends.push_back(i);
      first = i;
      filled = 0;
    }
    filled += length;
  }
  if (!requests.empty()) ends.push_back(requests.size());
  return ends;
}

}  // namespace kc
