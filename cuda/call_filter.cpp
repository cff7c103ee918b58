#include "cuda/call_filter.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include <cerrno>

namespace kc {
namespace {

constexpr int kRefused[] = {SCMP_SYS(execve),
                            SCMP_SYS(execveat),
                            SCMP_SYS(fork),
                            SCMP_SYS(vfork),
                            SCMP_SYS(ptrace),
                            SCMP_SYS(process_vm_readv),
                            SCMP_SYS(process_vm_writev),
                            SCMP_SYS(pidfd_open),
                            SCMP_SYS(pidfd_getfd),
                            SCMP_SYS(mount),
                            SCMP_SYS(umount2),
                            SCMP_SYS(unshare),
                            SCMP_SYS(setns),
                            SCMP_SYS(bpf),
                            SCMP_SYS(perf_event_open),
                            SCMP_SYS(keyctl),
                            SCMP_SYS(add_key),
                            SCMP_SYS(request_key),
                            SCMP_SYS(userfaultfd),
                            SCMP_SYS(io_uring_setup),
                            SCMP_SYS(process_madvise),
                            SCMP_SYS(init_module),
                            SCMP_SYS(finit_module)};

}  // namespace

bool filter_calls(Sockets sockets, std::span<const int> more) {
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  auto* const filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) return false;
  bool complete = true;
  const auto refuse = [&](int call) {
    complete = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0) == 0 && complete;
  };
  const auto refuse_where = [&](int error, int call, scmp_arg_cmp argument) {
    complete =
        seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<unsigned>(error)), call, 1, argument) == 0 && complete;
  };
  for (const int call : kRefused) refuse(call);
  for (const int call : more) refuse(call);
  if (sockets == Sockets::none) {
    refuse(SCMP_SYS(socket));
  } else {
    refuse_where(EPERM, SCMP_SYS(socket), SCMP_A0(SCMP_CMP_NE, AF_UNIX, 0));
  }
  refuse_where(EPERM, SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_NE, 0, 0));  // its own limits only
  refuse_where(EPERM, SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  complete = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0 && complete;
  complete = complete && seccomp_load(filter) == 0;
  seccomp_release(filter);
  return complete;
}

}  // namespace kc
