#include "cuda/output_digest.h"

#include <cstring>

namespace kc {
namespace {

// The finaliser of SplitMix64.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

}  // namespace

const char* const kDigestSource = R"(
static __device__ unsigned long long kc_mix(unsigned long long x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}
extern "C" __global__ void kc_digest(const unsigned long long* words, unsigned long long count, unsigned long long key,
                                     unsigned long long* sum) {
  unsigned long long own = 0;
  const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;
  for (unsigned long long i = blockIdx.x * (unsigned long long)blockDim.x + threadIdx.x; i < count; i += step) {
    own += kc_mix(words[i] ^ kc_mix(key + i));
  }
  atomicAdd(sum, own);
}
)";

std::uint64_t output_digest(std::span<const std::byte> bytes, std::size_t launch, std::uint64_t key) {
  const std::size_t count = bytes.size() / sizeof(std::uint64_t);
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i * sizeof word, sizeof word);
    sum += mix(word ^ mix(key + launch * count + i));
  }
  return sum;
}

}  // namespace kc
