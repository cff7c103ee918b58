#include "base/progress.h"

#include <chrono>
#include <cmath>
#include <deque>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/terminal.h"

namespace kc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kRedrawSeconds = 0.1;
constexpr double kLogSeconds = 5.0;
constexpr double kSampleSeconds = 1.0;
constexpr std::size_t kSamples = 30;  // the rate is that of the last half minute

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

std::string rate_text(double rate) {
  if (rate >= 100) return fmt::format("{:.0f}/s", rate);
  if (rate >= 0.1) return fmt::format("{:.1f}/s", rate);
  return fmt::format("{:.1f}/min", rate * 60);
}

}  // namespace

std::string duration_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<std::int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string progress_text(const ProgressState& state) {
  std::string text = fmt::format("{}: {}", state.title, state.done);
  if (state.total > 0) {
    const double percent = 100.0 * static_cast<double>(state.done) / static_cast<double>(state.total);
    text += fmt::format("/{} {} ({:.0f} %)", state.total, state.unit, std::floor(percent));
  } else {
    text += " " + state.unit;
  }
  if (state.rate > 0) text += ", " + rate_text(state.rate);
  if (state.rate > 0 && state.total > state.done) {
    text += ", " + duration_text(static_cast<double>(state.total - state.done) / state.rate) + " left";
  }
  return state.note.empty() ? text : text + ", " + state.note;
}

struct Progress::Impl {
  ProgressState state;
  bool on_terminal = stderr_is_terminal();
  bool finished = false;
  Clock::time_point start = Clock::now();
  Clock::time_point shown = start;
  std::deque<std::pair<Clock::time_point, std::int64_t>> samples{{start, 0}};
  std::mutex mutex;

  void show(Clock::time_point now) {
    shown = now;
    if (on_terminal && log::is_shown(log::Level::info)) TerminalLine::draw(progress_text(state));
    if (!on_terminal) log::info(progress_text(state));
  }

  void measure_rate(Clock::time_point now) {
    const auto& [since, done_then] = samples.front();
    const double seconds = seconds_between(since, now);
    if (seconds > 0) state.rate = static_cast<double>(state.done - done_then) / seconds;
    if (seconds_between(samples.back().first, now) < kSampleSeconds) return;
    samples.emplace_back(now, state.done);
    if (samples.size() > kSamples) samples.pop_front();
  }
};

Progress::Progress(std::string title, std::int64_t total, std::string unit) : impl_(std::make_unique<Impl>()) {
  impl_->state.title = std::move(title);
  impl_->state.unit = std::move(unit);
  impl_->state.total = total;
}

Progress::~Progress() {
  if (!impl_->finished && impl_->on_terminal) TerminalLine::keep();
}

void Progress::advance(std::int64_t count, std::string_view note) {
  const std::lock_guard lock(impl_->mutex);
  impl_->state.done += count;
  if (!note.empty()) impl_->state.note = note;
  const Clock::time_point now = Clock::now();
  impl_->measure_rate(now);
  if (seconds_between(impl_->shown, now) >= (impl_->on_terminal ? kRedrawSeconds : kLogSeconds)) impl_->show(now);
}

void Progress::finish() {
  const std::lock_guard lock(impl_->mutex);
  if (std::exchange(impl_->finished, true)) return;
  const Clock::time_point now = Clock::now();
  const double seconds = seconds_between(impl_->start, now);
  impl_->state.rate = seconds > 0 ? static_cast<double>(impl_->state.done) / seconds : 0;
  const std::string note = std::exchange(impl_->state.note, "took " + duration_text(seconds));
  if (!note.empty()) impl_->state.note += ", " + note;
  impl_->show(now);
  if (impl_->on_terminal) TerminalLine::keep();
}

}  // namespace kc
