#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/printable.h"
#include "base/terminal.h"

namespace kc::log {
namespace {

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("kernelcast", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_pattern("%H:%M:%S %^%-7l%$ %v");
    made->flush_on(spdlog::level::debug);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum native(Level level) {
  switch (level) {
    case Level::debug:
      return spdlog::level::debug;
    case Level::info:
      return spdlog::level::info;
    case Level::warning:
      return spdlog::level::warn;
    case Level::error:
      return spdlog::level::err;
    case Level::off:
      break;
  }
  return spdlog::level::off;
}

void emit(Level level, std::string_view message) {
  if (!is_shown(level)) return;
  const TerminalLine::Pause pause;
  logger().log(native(level), "{}", printable(message, "\n\t"));
}

}  // namespace

void set_level(Level level) { logger().set_level(native(level)); }
bool is_shown(Level level) { return logger().should_log(native(level)); }
void debug(std::string_view message) { emit(Level::debug, message); }
void info(std::string_view message) { emit(Level::info, message); }
void warning(std::string_view message) { emit(Level::warning, message); }
void error(std::string_view message) { emit(Level::error, message); }

}  // namespace kc::log
