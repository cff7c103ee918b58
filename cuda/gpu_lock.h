#pragma once
// The right to time on one GPU.
#include <stop_token>
#include <string>

#include "measure/process.h"

namespace kc {

// One holder at a time, whoever's process it is; other GPUs are free meanwhile. Waits for it. It is a name among the
// machine's local sockets, so nothing stays behind, however its holder ends; containers with a network of their own do
// not see each other's.
class GpuLock {
 public:
  GpuLock(const std::string& uuid, const std::stop_token& stop);  // Error{interrupted}

 private:
  Descriptor name_;
};

}  // namespace kc
