#pragma once
// Messages for people, on stderr (stdout belongs to a program's result). Thread-safe. Coloured on a terminal only.
#include <string_view>

namespace kc::log {

enum class Level { debug, info, warning, error, off };

// From the start: info.
void set_level(Level level);
bool is_shown(Level level);
void debug(std::string_view message);
void info(std::string_view message);
void warning(std::string_view message);
void error(std::string_view message);

}  // namespace kc::log
