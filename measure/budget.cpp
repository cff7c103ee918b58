#include "measure/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace kc {
namespace {

using Clock = std::chrono::steady_clock;

// Asks for a stop after a while, or when the caller's own token does.
class Deadline {
 public:
  Deadline(double seconds, const std::stop_token& outer) : forward_(outer, [this] { source_.request_stop(); }) {
    if (seconds <= 0) return;
    timer_ = std::jthread([this, seconds](const std::stop_token& done) {
      std::mutex mutex;
      std::condition_variable_any ended;
      std::unique_lock lock(mutex);
      ended.wait_for(lock, done, std::chrono::duration<double>(seconds), [] { return false; });
      if (!done.stop_requested()) source_.request_stop();
    });
  }
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::stop_callback<std::function<void()>> forward_;
  std::jthread timer_;
};

class BudgetedMeasurer : public Measurer {
 public:
  BudgetedMeasurer(std::unique_ptr<Measurer> inner, const MeasureBudget& budget)
      : inner_(std::move(inner)), budget_(budget) {}

  std::vector<Measurement> measure(std::span<const MeasureRequest> requests, const OnResult& on_result,
                                   std::stop_token stop) override {
    const std::size_t allowed = affordable(requests.size());
    const double seconds_left = budget_.seconds - spent_s_;
    if (allowed == 0 || (budget_.seconds > 0 && seconds_left <= 0)) throw spent();
    const Deadline deadline(budget_.seconds > 0 ? seconds_left : 0, stop);
    const Clock::time_point start = Clock::now();
    const auto add_time = [&] { spent_s_ += std::chrono::duration<double>(Clock::now() - start).count(); };
    std::vector<Measurement> results;
    try {
      results = inner_->measure(
          requests.first(allowed),
          [&](std::size_t i, const Measurement& measurement) {
            ++measured_;
            if (on_result) on_result(i, measurement);
          },
          deadline.token());
    } catch (const Error& error) {
      add_time();
      if (error.kind() == ErrorKind::interrupted && !stop.stop_requested()) throw spent();
      throw;
    }
    add_time();
    if (allowed < requests.size()) throw spent();
    return results;
  }

  std::string kind() const override { return inner_->kind(); }

  Provenance provenance(const TaskPack& task) const override { return inner_->provenance(task); }

 private:
  std::size_t affordable(std::size_t wanted) const {
    if (budget_.candidates <= 0) return wanted;
    return std::min(wanted, static_cast<std::size_t>(std::max<std::int64_t>(0, budget_.candidates - measured_)));
  }

  BudgetSpent spent() const {
    return BudgetSpent(fmt::format("the budget is spent: {} candidates in {:.1f} s", measured_, spent_s_));
  }

  std::unique_ptr<Measurer> inner_;
  MeasureBudget budget_;
  std::int64_t measured_ = 0;
  double spent_s_ = 0;
};

}  // namespace

std::unique_ptr<Measurer> make_budgeted_measurer(std::unique_ptr<Measurer> inner, const MeasureBudget& budget) {
  return std::make_unique<BudgetedMeasurer>(std::move(inner), budget);
}

}  // namespace kc
