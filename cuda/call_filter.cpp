#include "cuda/call_filter.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

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

// Beside those: signals to others, what changes files that may only be read, how others are scheduled, and what root
// may do to the machine.
constexpr int kRefusedToHostCode[] = {SCMP_SYS(kill),
                                      SCMP_SYS(tkill),
                                      SCMP_SYS(rt_sigqueueinfo),
                                      SCMP_SYS(rt_tgsigqueueinfo),
                                      SCMP_SYS(pidfd_send_signal),
                                      SCMP_SYS(socketpair),
                                      SCMP_SYS(connect),
                                      SCMP_SYS(bind),
                                      SCMP_SYS(listen),
                                      SCMP_SYS(chmod),
                                      SCMP_SYS(fchmod),
                                      SCMP_SYS(fchmodat),
                                      SCMP_SYS(chown),
                                      SCMP_SYS(fchown),
                                      SCMP_SYS(lchown),
                                      SCMP_SYS(fchownat),
                                      SCMP_SYS(utime),
                                      SCMP_SYS(utimes),
                                      SCMP_SYS(utimensat),
                                      SCMP_SYS(futimesat),
                                      SCMP_SYS(setxattr),
                                      SCMP_SYS(lsetxattr),
                                      SCMP_SYS(fsetxattr),
                                      SCMP_SYS(removexattr),
                                      SCMP_SYS(lremovexattr),
                                      SCMP_SYS(fremovexattr),
                                      SCMP_SYS(truncate),
                                      SCMP_SYS(setpriority),
                                      SCMP_SYS(sched_setscheduler),
                                      SCMP_SYS(sched_setparam),
                                      SCMP_SYS(sched_setattr),
                                      SCMP_SYS(ioprio_set),
                                      SCMP_SYS(migrate_pages),
                                      SCMP_SYS(move_pages),
                                      SCMP_SYS(kcmp),
                                      SCMP_SYS(settimeofday),
                                      SCMP_SYS(clock_settime),
                                      SCMP_SYS(adjtimex),
                                      SCMP_SYS(clock_adjtime),
                                      SCMP_SYS(iopl),
                                      SCMP_SYS(ioperm),
                                      SCMP_SYS(reboot),
                                      SCMP_SYS(kexec_load),
                                      SCMP_SYS(kexec_file_load),
                                      SCMP_SYS(delete_module),
                                      SCMP_SYS(swapon),
                                      SCMP_SYS(swapoff),
                                      SCMP_SYS(acct),
                                      SCMP_SYS(quotactl),
                                      SCMP_SYS(syslog),
                                      SCMP_SYS(chroot),
                                      SCMP_SYS(pivot_root),
                                      SCMP_SYS(open_tree),
                                      SCMP_SYS(move_mount),
                                      SCMP_SYS(fsopen),
                                      SCMP_SYS(fsmount),
                                      SCMP_SYS(fanotify_init),
                                      SCMP_SYS(name_to_handle_at),
                                      SCMP_SYS(open_by_handle_at)};

enum class Threads { this_one, all };

class Filter {
 public:
  Filter() : filter_(seccomp_init(SCMP_ACT_ALLOW)), complete_(filter_ != nullptr) {}
  ~Filter() {
    if (filter_ != nullptr) seccomp_release(filter_);
  }
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;

  void refuse(int call, int error = EPERM) { add(seccomp_rule_add(filter_, action(error), call, 0)); }
  void refuse_where(int call, scmp_arg_cmp argument) {
    add(seccomp_rule_add(filter_, action(EPERM), call, 1, argument));
  }
  void refuse_all(std::span<const int> calls) {
    for (const int call : calls) refuse(call);
  }

  bool load(Threads threads) {
    if (!complete_) return false;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    // By default the calling thread alone dies, and whoever waits for it waits for ever.
    add(seccomp_attr_set(filter_, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS));
    if (threads == Threads::all) add(seccomp_attr_set(filter_, SCMP_FLTATR_CTL_TSYNC, 1));
    return complete_ && seccomp_load(filter_) == 0;
  }

 private:
  static std::uint32_t action(int error) { return SCMP_ACT_ERRNO(static_cast<unsigned>(error)); }
  void add(int result) { complete_ = complete_ && result == 0; }

  scmp_filter_ctx filter_;
  bool complete_;
};

void refuse_common(Filter& filter) {
  filter.refuse_all(kRefused);
  filter.refuse_where(SCMP_SYS(prlimit64), SCMP_A0(SCMP_CMP_NE, 0, 0));  // its own limits only
  filter.refuse_where(SCMP_SYS(clone), SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
  filter.refuse(SCMP_SYS(clone3), ENOSYS);
}

}  // namespace

bool filter_calls(Sockets sockets, std::span<const int> more) {
  Filter filter;
  refuse_common(filter);
  filter.refuse_all(more);
  if (sockets == Sockets::none) {
    filter.refuse(SCMP_SYS(socket));
  } else {
    filter.refuse_where(SCMP_SYS(socket), SCMP_A0(SCMP_CMP_NE, AF_UNIX, 0));
  }
  return filter.load(Threads::this_one);
}

bool filter_calls_of_host_code() {
  Filter filter;
  refuse_common(filter);
  filter.refuse_all(kRefusedToHostCode);
  filter.refuse(SCMP_SYS(socket));
  filter.refuse_where(SCMP_SYS(tgkill), SCMP_A0(SCMP_CMP_NE, static_cast<scmp_datum_t>(getpid()), 0));
  filter.refuse_where(SCMP_SYS(sched_setaffinity), SCMP_A0(SCMP_CMP_NE, 0, 0));
  return filter.load(Threads::all);
}

}  // namespace kc
