#include "cuda/nvrtc_worker.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/interrupt.h"

namespace kc {
namespace {

constexpr double kStartSeconds = 30;

std::chrono::steady_clock::duration seconds(double value) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(value));
}

}  // namespace

std::filesystem::path find_nvrtc_worker() {
  const char* chosen = std::getenv("KERNELCAST_NVRTC");
  std::error_code fault;
  const std::filesystem::path program =
      chosen != nullptr ? std::filesystem::path(chosen)
                        : std::filesystem::read_symlink("/proc/self/exe", fault).parent_path() / "kernelcast-nvrtc";
  if (::access(program.c_str(), X_OK) == 0) return program;
  throw Error(ErrorKind::environment, fmt::format("{} is missing: it is built with the programs and stays beside them; "
                                                  "or set KERNELCAST_NVRTC",
                                                  program.string()));
}

NvrtcWorker::NvrtcWorker(const CudaToolkit& toolkit, const CudaCompileOptions& options)
    : timeout_s_(options.timeout_s), memory_limit_mb_(options.memory_limit_mb) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw Error(ErrorKind::environment, fmt::format("cannot make a socket: {}", std::strerror(errno)));
  }
  socket_ = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);
  ::fcntl(socket_.get(), F_SETFL, O_NONBLOCK);
  SpawnSpec spec;
  spec.arguments = {find_nvrtc_worker().string(), toolkit.nvrtc.string(), std::to_string(options.memory_limit_mb << 20),
                    fmt::format("{:.0f}", options.timeout_s + 0.5), options.sandbox == "off" ? "0" : "1"};
  for (const auto& folder : toolkit.includes) spec.arguments.push_back(folder.string());
  spec.environment = {"LC_ALL=C"};
  spec.fds = {{theirs.get(), nvrtc::kSocketFd}};
  process_ = spawn(spec);
  const auto greeting = receive(Clock::now() + seconds(kStartSeconds), {});
  if (!greeting || greeting->size() != 3 || greeting->front() != "hello") {
    const bool said_why = greeting && greeting->size() == 2;
    throw Error(ErrorKind::environment, fmt::format("the compiler {} does not start: {}", toolkit.nvrtc.string(),
                                                    said_why ? (*greeting)[1] : why_it_ended()));
  }
  version_ = (*greeting)[1];
  missing_ = static_cast<unsigned>(std::strtoul((*greeting)[2].c_str(), nullptr, 10));
}

bool NvrtcWorker::wait_for(short events, Clock::time_point deadline, const std::stop_token& stop) {
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

bool NvrtcWorker::send(const std::string& message, Clock::time_point deadline, const std::stop_token& stop) {
  for (std::size_t at = 0; at < message.size();) {
    if (!wait_for(POLLOUT, deadline, stop)) return false;
    const ssize_t count = ::send(socket_.get(), message.data() + at, message.size() - at, MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN && errno != EINTR) return false;
    if (count > 0) at += static_cast<std::size_t>(count);
  }
  return true;
}

std::optional<nvrtc::Fields> NvrtcWorker::receive(Clock::time_point deadline, const std::stop_token& stop) {
  std::string body;
  std::uint32_t length = sizeof length;
  bool has_length = false;
  while (body.size() < length) {
    if (!wait_for(POLLIN, deadline, stop)) return std::nullopt;
    char buffer[65536];
    const std::size_t wanted = std::min(sizeof buffer, length - body.size());
    const ssize_t count = ::recv(socket_.get(), buffer, wanted, 0);
    if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) return std::nullopt;
    if (count > 0) body.append(buffer, static_cast<std::size_t>(count));
    if (has_length || body.size() < sizeof length) continue;
    body.copy(reinterpret_cast<char*>(&length), sizeof length);
    if (length > nvrtc::kMaxMessage) return std::nullopt;
    body.clear();
    has_length = true;
  }
  return nvrtc::unpack(body);
}

std::string NvrtcWorker::why_it_ended() {
  if (timed_out_) {
    process_.kill();
    return fmt::format("the compiler was stopped after {} s", timeout_s_);
  }
  process_.kill();
  const int status = process_.status();
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) {
    return fmt::format("the compiler was stopped after {} s of CPU time", timeout_s_);
  }
  return fmt::format("the compiler ended with {} (limit of memory: {} MB)", describe_end(status), memory_limit_mb_);
}

NvrtcWorker::Answer NvrtcWorker::compile(const nvrtc::Fields& request, const std::stop_token& stop) {
  const auto deadline = Clock::now() + seconds(timeout_s_);
  Answer answer;
  timed_out_ = false;
  auto reply = send(nvrtc::pack(request), deadline, stop) ? receive(deadline, stop) : std::nullopt;
  if (!reply || reply->size() != 4) {
    answer.alive = false;
    answer.name = why_it_ended();
    return answer;
  }
  answer.result = static_cast<int>(std::strtol((*reply)[0].c_str(), nullptr, 10));
  answer.name = std::move((*reply)[1]);
  answer.log = std::move((*reply)[2]);
  answer.cubin = std::move((*reply)[3]);
  return answer;
}

}  // namespace kc
