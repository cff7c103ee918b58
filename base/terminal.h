#pragma once
// Who may write to the terminal's last line: progress redraws it in place, log messages go above it.
#include <mutex>
#include <string>

namespace kc {

bool stderr_is_terminal();

// Columns of the terminal on stderr; 80 when unknown.
int terminal_width();

// The redrawn line at the bottom of a terminal. All members are thread-safe and do not throw.
class TerminalLine {
 public:
  // Replaces the line; cut to the terminal's width.
  static void draw(const std::string& text);
  // Ends the line with a newline, so that it stays.
  static void keep();

  // Erases the line for the lifetime of the object and draws it again after; others wait meanwhile.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    std::unique_lock<std::mutex> lock_;
  };
};

}  // namespace kc
