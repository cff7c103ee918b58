#pragma once
// Progress of long work on stderr: done/total, rate, estimated time left. One line redrawn on a terminal, otherwise a
// line every few seconds, so logs stay short. Thread-safe.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kc {

class Progress {
 public:
  // `unit` is plural ("candidates"); total 0 means unknown.
  Progress(std::string title, std::int64_t total, std::string unit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Adds `count`; `note` (failures by kind, say) replaces the last note.
  void advance(std::int64_t count = 1, std::string_view note = {});
  void finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kc
