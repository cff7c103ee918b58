#include "base/interrupt.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/log.h"

namespace kc {
namespace {

// The handler may only use async-signal-safe calls, and std::stop_source::request_stop is none: it wakes a thread
// through a pipe, and that thread triggers the token.
std::atomic<int> signals_seen{0};
int wake_pipe[2] = {-1, -1};
pid_t owner = 0;

void handle_signal(int number) {
  const int saved = errno;
  if (::getpid() != owner) {  // a forked child that has not yet executed its program
    ::signal(number, SIG_DFL);
    ::raise(number);
  } else if (signals_seen.fetch_add(1) > 0) {
    ::_exit(exit_code(ErrorKind::interrupted));
  } else {
    const char byte = 0;
    [[maybe_unused]] const ssize_t written = ::write(wake_pipe[1], &byte, 1);
  }
  errno = saved;
}

void wait_for_signal(std::stop_source source) {
  char byte = 0;
  while (::read(wake_pipe[0], &byte, 1) < 0 && errno == EINTR) {
  }
  // Said first: work that sees the token may end the process before this thread runs again.
  log::warning("interrupted: stopping at the next safe point; once more to end at once");
  source.request_stop();
}

std::stop_source* install() {
  if (::pipe2(wake_pipe, O_CLOEXEC) != 0) {
    throw Error(ErrorKind::environment, std::string("cannot make a pipe for signals: ") + std::strerror(errno));
  }
  owner = ::getpid();
  auto* source = new std::stop_source;  // lives as long as the process, as the thread does
  std::thread(wait_for_signal, *source).detach();
  struct sigaction action{};
  action.sa_handler = handle_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  return source;
}

}  // namespace

std::stop_token interrupt_token() {
  static const std::stop_source* const source = install();
  return source->get_token();
}

void throw_if_stopped(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Error(ErrorKind::interrupted, "interrupted; what was finished is stored");
}

}  // namespace kc
