#pragma once
// System calls that a process of ours with foreign work in it gives up (libseccomp).
#include <span>

namespace kc {

enum class Sockets {
  none,   // can be made
  local,  // of the family AF_UNIX only
};

// Refused from here on: starting programs and processes (threads may start), touching other processes, mounts,
// namespaces, the kernel's modules and tracing, limits of others, sockets but these, and `more` (system call numbers).
// A refused call fails with EPERM, so that a library that only probes goes on. False when the kernel cannot.
bool filter_calls(Sockets sockets, std::span<const int> more);

// For code of candidates beside a driver that runs already: the same without any socket, and more that no driver needs
// once it is there. Holds for all threads of this process. False when the kernel cannot.
bool filter_calls_of_host_code();

}  // namespace kc
