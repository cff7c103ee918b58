#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

namespace kc {
namespace {

struct LineState {
  std::mutex mutex;
  std::string text;
};

// Never destroyed: messages may come from destructors at exit.
LineState& state() {
  static LineState& instance = *new LineState;
  return instance;
}

// Byte length of the first `columns` UTF-8 characters.
std::size_t prefix_bytes(const std::string& text, int columns) {
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const bool starts_character = (static_cast<unsigned char>(text[end]) & 0xC0U) != 0x80U;
    if (starts_character && columns-- == 0) break;
  }
  return end;
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

constexpr const char* kErase = "\r\033[K";

}  // namespace

bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) == 1; }

int terminal_width() {
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

void TerminalLine::draw(const std::string& text) {
  const std::lock_guard lock(state().mutex);
  state().text = text.substr(0, prefix_bytes(text, terminal_width() - 1));
  print(kErase + state().text);
}

void TerminalLine::keep() {
  const std::lock_guard lock(state().mutex);
  if (!state().text.empty()) print("\n");
  state().text.clear();
}

TerminalLine::Pause::Pause() : lock_(state().mutex) {
  if (!state().text.empty()) print(kErase);
}

TerminalLine::Pause::~Pause() {
  if (!state().text.empty()) print(state().text);
}

}  // namespace kc
