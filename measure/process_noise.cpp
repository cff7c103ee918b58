#include "measure/process_noise.h"

#include <algorithm>
#include <cmath>

namespace kc {
namespace {

constexpr std::size_t kRemembered = 64;     // labels: the machine changes
constexpr double kUnknownVariance = 1e-4;   // of 1 %, before anything was measured
constexpr double kSmallestVariance = 4e-6;  // of 0.2 %: what lies below is luck
constexpr double kLeftOut = 0.1;            // of the labels, those that spread most: their own spread tells about them

}  // namespace

void ProcessNoise::add(std::span<const double> process_log2) {
  if (process_log2.size() < 2) return;
  spreads_.push_back({squares_about_mean(process_log2), static_cast<double>(process_log2.size() - 1)});
  if (spreads_.size() > kRemembered) spreads_.pop_front();
}

double ProcessNoise::variance() const {
  if (spreads_.empty()) return kUnknownVariance;
  std::vector<Spread> sorted(spreads_.begin(), spreads_.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Spread& a, const Spread& b) { return a.squares * b.degrees < b.squares * a.degrees; });
  sorted.resize(sorted.size() - static_cast<std::size_t>(kLeftOut * static_cast<double>(sorted.size())));
  double squares = 0, sum = 0;
  for (const Spread& spread : sorted) {
    squares += spread.squares;
    sum += spread.degrees;
  }
  return std::max(squares / sum, kSmallestVariance);
}

double ProcessNoise::degrees() const {
  double sum = 0;
  for (const Spread& spread : spreads_) sum += spread.degrees;
  return std::clamp(sum, 1.0, double{kMostDegrees});
}

double session_log2(double disturbed_share) {
  return std::hypot(kSessionLog2, kSharedCoreLog2 * std::sqrt(disturbed_share));
}

Interval label_interval(double log2, std::span<const double> process_log2, double round_variance,
                        const ProcessNoise& noise, double level, double session_log2) {
  const auto own_degrees = static_cast<double>(process_log2.size() - 1);
  const double degrees = noise.degrees() + own_degrees;
  const double moderated = (noise.degrees() * noise.variance() + squares_about_mean(process_log2)) / degrees;
  const double variance = std::max(moderated, round_variance) / static_cast<double>(process_log2.size());
  const double apart = std::sqrt(2 * (variance + session_log2 * session_log2));  // of two labels
  const double halfwidth = student_t_quantile(level, static_cast<int>(degrees)) * apart;
  return {log2 - halfwidth, log2 + halfwidth};
}

}  // namespace kc
