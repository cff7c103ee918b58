#pragma once
// "Did you mean ...?" for misspelt keys, options and names.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kc {

// Least number of insertions, deletions, replacements and swaps of neighbours (optimal string alignment), in bytes.
std::size_t edit_distance(std::string_view a, std::string_view b);

// The candidate nearest to `name`, ignoring case; none when all are further than half the name's length (at least 2
// edits are always allowed). The first of equally near ones wins.
std::optional<std::string> nearest_name(std::string_view name, std::span<const std::string> candidates);

// "; did you mean 'x'?", or "" when nothing is near: to be appended to a message.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

}  // namespace kc
