#include "cuda/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/interrupt.h"

namespace kc {

std::filesystem::path find_worker_program(const char* name, const char* variable) {
  const char* chosen = std::getenv(variable);
  std::error_code fault;
  const std::filesystem::path program =
      chosen != nullptr ? std::filesystem::path(chosen)
                        : std::filesystem::read_symlink("/proc/self/exe", fault).parent_path() / name;
  if (::access(program.c_str(), X_OK) == 0) return program;
  throw Error(ErrorKind::environment, fmt::format("{} is missing: it is built with the programs and stays beside them; "
                                                  "or set {}",
                                                  program.string(), variable));
}

WorkerProcess::Clock::time_point WorkerProcess::after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

WorkerProcess::WorkerProcess(std::vector<std::string> arguments, std::vector<std::string> environment) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(ErrorKind::environment, fmt::format("cannot make a socket: {}", std::strerror(errno)));
  }
  socket_ = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);
  ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  SpawnSpec spec;
  spec.arguments = std::move(arguments);
  spec.environment = std::move(environment);
  spec.fds = {{theirs.get(), kWorkerSocketFd}};
  process_ = spawn(spec);
}

bool WorkerProcess::wait_for(short events, Clock::time_point deadline, const std::stop_token& stop) {
  for (;;) {
    if (stop.stop_requested()) {
      process_.kill();
      throw_if_stopped(stop);
    }
    if (Clock::now() > deadline) {
      timed_out_ = true;
      return false;
    }
    pollfd polled{socket_.get(), events, 0};
    const int count = ::poll(&polled, 1, 50);
    if (count > 0) return (polled.revents & events) != 0;
    if (count < 0 && errno != EINTR) return false;
  }
}

bool WorkerProcess::send(const Fields& fields, Clock::time_point deadline, const std::stop_token& stop) {
  const std::string message = pack_fields(fields);
  timed_out_ = false;
  for (std::size_t at = 0; at < message.size();) {
    if (!wait_for(POLLOUT, deadline, stop)) return false;
    const ssize_t count = ::send(socket_.get(), message.data() + at, message.size() - at, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (count > 0) at += static_cast<std::size_t>(count);
  }
  return true;
}

std::optional<Fields> WorkerProcess::receive(Clock::time_point deadline, const std::stop_token& stop) {
  std::string body;
  std::uint32_t length = sizeof length;
  bool has_length = false;
  timed_out_ = false;
  while (body.size() < length) {
    if (!wait_for(POLLIN, deadline, stop)) return std::nullopt;
    char buffer[65536];
    const std::size_t wanted = std::min(sizeof buffer, length - body.size());
    const ssize_t count = ::recv(socket_.get(), buffer, wanted, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return std::nullopt;
    if (count > 0) body.append(buffer, static_cast<std::size_t>(count));
    if (has_length || body.size() < sizeof length) continue;
    std::memcpy(&length, body.data(), sizeof length);
    if (length > kMaxMessage) return std::nullopt;
    body.clear();
    has_length = true;
  }
  return unpack_fields(body);
}

int WorkerProcess::end() {
  process_.kill();
  return process_.status();
}

}  // namespace kc
