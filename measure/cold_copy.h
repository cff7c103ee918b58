#pragma once
// Copies that leave nothing in a cache.
#include <cstddef>
#include <span>

namespace kc {

// Copies `source` to `target`, of equal length, past the caches (non-temporal stores): afterwards the lines of `target`
// lie in memory alone, whichever cores had them before, and are visible to all. Both 16-byte multiples long, `target`
// 16-byte aligned.
void copy_past_caches(std::span<std::byte> target, std::span<const std::byte> source);

}  // namespace kc
