#pragma once
// A sum over all bytes of the outputs that only one who has them all can tell: the same by a kernel of ours in the
// runner and by the harness on what it received. With it an answer proves that the outputs were there.
#include <cstddef>
#include <cstdint>
#include <span>

namespace kc {

// Of the launch with this index within a turn, whose outputs have `bytes.size()` bytes, a multiple of 8, as those of
// all others. Those of several launches add up (modulo 2^64).
std::uint64_t output_digest(std::span<const std::byte> bytes, std::size_t launch, std::uint64_t key);

extern const char* const kDigestSource;  // of the kernel
// Parameters: the outputs of all launches, one behind the other; their number of 8-byte words; the key; the sum.
inline constexpr const char* kDigestKernel = "kc_digest";

}  // namespace kc
