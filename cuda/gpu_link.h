#pragma once
// A channel to one GPU runner.
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "cuda/fields.h"

namespace kc {

class GpuLink {
 public:
  virtual ~GpuLink() = default;
  // The reply, or nothing when the runner died or the time passed; the link is then dead. Error{interrupted}.
  virtual std::optional<Fields> call(const Fields& request, double timeout_s, const std::stop_token& stop) = 0;
  virtual bool timed_out() const = 0;
  virtual std::string why_it_ended() = 0;
  virtual std::int64_t now_ns() const;  // the harness's clock
  virtual unsigned pid() const = 0;     // as the system numbers it; 0: no process
};

using GpuLinkFactory = std::function<std::unique_ptr<GpuLink>()>;

// A process kernelcast-gpu for the device with this index. Starts at once; the first call waits for its context.
// `sandbox`: auto | require | off. With `auto` a driver that does not start inside the sandbox is started outside, with
// a warning, as are all later processes. Error{environment}, from the first call on: no driver, no device; with
// `require` also a piece of the sandbox that is missing or that the driver does not bear.
std::unique_ptr<GpuLink> start_gpu_process(int device, const std::string& sandbox);

// The pieces of its sandbox that this machine does not offer, in words; tried without a device. Error{environment} when
// the program is missing or does not start.
std::vector<std::string> missing_gpu_isolation();

// In the place of a device's index: enter the sandbox, greet, and end.
inline constexpr const char* kNoDevice = "none";

}  // namespace kc
