#include "cuda/gpu_messages.h"

#include <algorithm>

#include "cuda/output_digest.h"

namespace kc {
namespace {

// Spins for `nanoseconds` of the global timer and notes both clocks at its begin and end: a delay that keeps the device
// busy while launches are queued behind it, and a reading of the multiprocessor's clock.
constexpr const char* kDelaySource = R"(
extern "C" __global__ void kc_delay(unsigned long long nanoseconds, unsigned long long* samples) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start) :: "memory");
  const long long clock_start = clock64();
  do {
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now) :: "memory");
  } while (now - start < nanoseconds);
  const long long clock_end = clock64();
  samples[0] = start;
  samples[1] = now;
  samples[2] = (unsigned long long)clock_start;
  samples[3] = (unsigned long long)clock_end;
}
)";

}  // namespace

std::string instrument_source() { return std::string(kDelaySource) + kDigestSource; }

Fields prepare_message(const PlanMessage& plan, const std::string& cubin, const std::string& instruments,
                       const std::vector<Step>& steps) {
  Fields fields = {"prepare", to_field(plan), cubin, instruments};
  for (const Step& step : steps) {
    StepMessage message;
    message.zero = static_cast<std::uint32_t>(step.zero);
    message.is_library = step.library ? 1 : 0;
    if (step.library) message.library = *step.library;
    if (step.launch) {
      std::copy(step.launch->grid.begin(), step.launch->grid.end(), message.grid);
      std::copy(step.launch->block.begin(), step.launch->block.end(), message.block);
      std::copy(step.launch->cluster.begin(), step.launch->cluster.end(), message.cluster);
      message.shared_bytes = step.launch->shared_bytes;
      step.launch->kernel.copy(message.kernel, sizeof message.kernel - 1);
    }
    fields.push_back(to_field(message));
  }
  return fields;
}

}  // namespace kc
