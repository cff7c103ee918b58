#include "measure/quiet_watch.h"

#include <algorithm>
#include <utility>

namespace kc {
namespace {

constexpr std::int64_t kBlock = 2000;
constexpr double kSlack = 1.05;

}  // namespace

bool QuietWatch::add(std::int64_t witness_ns) {
  if (looks_++ == kBlock) {
    lowest_before_ = std::exchange(lowest_, INT64_MAX);
    looks_ = 1;
  }
  lowest_ = std::min(lowest_, witness_ns);
  return static_cast<double>(witness_ns) <= kSlack * static_cast<double>(std::min(lowest_, lowest_before_));
}

}  // namespace kc
