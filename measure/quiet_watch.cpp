#include "measure/quiet_watch.h"

#include <algorithm>
#include <utility>

namespace kc {
namespace {

constexpr std::int64_t kBlock = 2000;
constexpr double kSlack = 1.05;
constexpr std::size_t kRemembered = 64;

}  // namespace

RoundTally& RoundTally::operator+=(const RoundTally& other) {
  kept += other.kept;
  disturbed += other.disturbed;
  return *this;
}

double RoundTally::disturbed_share() const {
  return kept == 0 ? 0 : static_cast<double>(disturbed) / static_cast<double>(kept);
}

void QuietWatch::remember(const RoundTally& label) {
  labels_.push_back(label);
  if (labels_.size() > kRemembered) labels_.pop_front();
}

RoundTally QuietWatch::remembered() const {
  RoundTally sum;
  for (const RoundTally& label : labels_) sum += label;
  return sum;
}

bool QuietWatch::add(std::int64_t witness_ns) {
  if (looks_++ == kBlock) {
    lowest_before_ = std::exchange(lowest_, INT64_MAX);
    looks_ = 1;
  }
  lowest_ = std::min(lowest_, witness_ns);
  return static_cast<double>(witness_ns) <= kSlack * static_cast<double>(std::min(lowest_, lowest_before_));
}

}  // namespace kc
