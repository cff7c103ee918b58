#include "cuda/gpu_lock.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <thread>

#include "base/interrupt.h"
#include "base/log.h"

namespace kc {
namespace {

// In the abstract namespace, whose names begin with a zero byte and are no files.
bool take_name(int socket, const std::string& name) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  name.copy(address.sun_path + 1, length);
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return ::bind(socket, reinterpret_cast<const sockaddr*>(&address), bytes) == 0 || errno != EADDRINUSE;
}

}  // namespace

GpuLock::GpuLock(const std::string& uuid, const std::stop_token& stop)
    : name_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  bool told = false;
  while (name_ && !take_name(name_.get(), "kernelcast-gpu-" + uuid)) {
    throw_if_stopped(stop);
    if (!told) log::info("waiting for another program that measures on this GPU");
    told = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace kc
