#include "cuda/worker_sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "cuda/nvrtc_protocol.h"

namespace kc {
namespace {

constexpr unsigned kNobody = 65534;

// Every right of Landlock's first version; newer rights (truncate, ioctl) imply a file opened for writing.
constexpr std::uint64_t kHandled = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
constexpr std::uint64_t kReading = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;

bool allow_reading(int rules, const std::string& folder) {
  landlock_path_beneath_attr beneath = {};
  beneath.allowed_access = kReading;
  beneath.parent_fd = open(folder.c_str(), O_PATH | O_CLOEXEC);
  if (beneath.parent_fd < 0) return false;
  const long result = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
  close(beneath.parent_fd);
  return result == 0;
}

bool restrict_files(const std::vector<std::string>& readable) {
  landlock_ruleset_attr attributes = {};
  attributes.handled_access_fs = kHandled;
  const auto rules =
      static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0));
  if (rules < 0) return false;
  bool allowed = true;
  for (const std::string& folder : readable) allowed = allow_reading(rules, folder) && allowed;
  const bool entered = allowed && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
  close(rules);
  return entered;
}

// A refused call fails with EPERM, so that a library that only probes goes on.
bool restrict_calls() {
  auto* const filter = seccomp_init(SCMP_ACT_ALLOW);
  if (filter == nullptr) return false;
  constexpr int kRefused[] = {SCMP_SYS(execve),
                              SCMP_SYS(execveat),
                              SCMP_SYS(fork),
                              SCMP_SYS(vfork),
                              SCMP_SYS(socket),
                              SCMP_SYS(socketpair),
                              SCMP_SYS(connect),
                              SCMP_SYS(bind),
                              SCMP_SYS(ptrace),
                              SCMP_SYS(kill),
                              SCMP_SYS(tkill),
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
                              SCMP_SYS(shmget),
                              SCMP_SYS(msgget),
                              SCMP_SYS(semget),
                              SCMP_SYS(process_madvise),
                              SCMP_SYS(init_module),
                              SCMP_SYS(finit_module)};
  bool complete = true;
  for (const int call : kRefused) complete = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), call, 0) == 0 && complete;
  complete = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(prlimit64), 1, SCMP_A0(SCMP_CMP_NE, 0, 0)) == 0 &&
             complete;  // its own limits only
  complete = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0 && complete;
  complete = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                              SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0)) == 0 &&
             complete;
  complete = complete && seccomp_load(filter) == 0;
  seccomp_release(filter);
  return complete;
}

// Whether every folder on the way may be passed by users without rights.
bool others_may_read(const std::string& folder) {
  char real[PATH_MAX];
  if (realpath(folder.c_str(), real) == nullptr) return false;
  std::string path = real;
  for (;;) {
    struct stat status = {};
    if (stat(path.empty() ? "/" : path.c_str(), &status) != 0 || (status.st_mode & S_IXOTH) == 0) return false;
    if (path.empty()) return true;
    path.resize(path.rfind('/'));
  }
}

bool become_another_user(const std::vector<std::string>& readable) {
  if (geteuid() != 0) return true;  // has no rights to give up
  for (const std::string& folder : readable) {
    if (!others_may_read(folder)) return false;
  }
  return setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
         setresuid(kNobody, kNobody, kNobody) == 0;
}

}  // namespace

unsigned enter_worker_sandbox(const std::vector<std::string>& readable) {
  unsigned missing = 0;
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!become_another_user(readable)) missing |= nvrtc::kNoUser;
  if (!restrict_files(readable)) missing |= nvrtc::kNoLandlock;
  if (!restrict_calls()) missing |= nvrtc::kNoSystemCallFilter;
  return missing;
}

}  // namespace kc
