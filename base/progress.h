#pragma once
// Progress of long work on stderr: done/total, rate, estimated time left. One line redrawn on a terminal, otherwise a
// log line (info) every 5 seconds, so logs stay short. Silent when the log level hides info. Thread-safe.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kc {

// "0.8 s", "12 s", "3 min 20 s", "2 h 05 min".
std::string duration_text(double seconds);

struct ProgressState {
  std::string title;
  std::string unit;  // plural
  std::string note;  // may be empty
  std::int64_t done = 0;
  std::int64_t total = 0;  // 0: unknown
  double rate = 0;         // units per second; 0: not known yet
};

// "label: 250/2500 candidates (10 %), 12.5/s, 3 min 00 s left, 3 timeouts".
std::string progress_text(const ProgressState& state);

class Progress {
 public:
  // `unit` is plural ("candidates"); total 0 means unknown.
  Progress(std::string title, std::int64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Adds `count`; `note` (failures by kind, say) replaces the last note.
  void advance(std::int64_t count = 1, std::string_view note = {});
  // Shows the last line with the time taken. Without it (an exception passes), the destructor leaves the line as it is.
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kc
