#include "measure/runner_sandbox.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <string>
#include <vector>

#include "measure/landlock.h"

namespace kc {
namespace {

void limit(__rlimit_resource resource, rlim_t value) {
  const rlimit both{value, value};
  setrlimit(resource, &both);
}

void set_limits(const RunnerSetup& setup) {
  limit(RLIMIT_AS, setup.memory_limit + setup.input_bytes + setup.output_bytes);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_NOFILE, 16);
  if (setup.threads == 1) limit(RLIMIT_NPROC, 1);
}

constexpr int kAllowed[] = {SCMP_SYS(read),         SCMP_SYS(write),          SCMP_SYS(writev),
                            SCMP_SYS(close),        SCMP_SYS(lseek),          SCMP_SYS(pread64),
                            SCMP_SYS(fstat),        SCMP_SYS(newfstatat),     SCMP_SYS(stat),
                            SCMP_SYS(lstat),        SCMP_SYS(statx),          SCMP_SYS(access),
                            SCMP_SYS(mmap),         SCMP_SYS(munmap),         SCMP_SYS(mprotect),
                            SCMP_SYS(mremap),       SCMP_SYS(madvise),        SCMP_SYS(brk),
                            SCMP_SYS(futex),        SCMP_SYS(sched_yield),    SCMP_SYS(sched_getaffinity),
                            SCMP_SYS(getcpu),       SCMP_SYS(rt_sigreturn),   SCMP_SYS(rt_sigprocmask),
                            SCMP_SYS(sigaltstack),  SCMP_SYS(exit),           SCMP_SYS(exit_group),
                            SCMP_SYS(getpid),       SCMP_SYS(gettid),         SCMP_SYS(getuid),
                            SCMP_SYS(getrandom),    SCMP_SYS(clock_gettime),  SCMP_SYS(clock_getres),
                            SCMP_SYS(gettimeofday), SCMP_SYS(nanosleep),      SCMP_SYS(clock_nanosleep),
                            SCMP_SYS(uname),        SCMP_SYS(sysinfo),        SCMP_SYS(set_robust_list),
                            SCMP_SYS(rseq),         SCMP_SYS(restart_syscall)};

void allow_with_conditions(scmp_filter_ctx filter, bool threads) {
  constexpr auto kWriting = static_cast<scmp_datum_t>(O_ACCMODE | O_CREAT | O_TRUNC | O_TMPFILE);
  seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
                   SCMP_A2(SCMP_CMP_MASKED_EQ, kWriting & ~O_DIRECTORY, 0U));
  seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(open), 1, SCMP_A1(SCMP_CMP_MASKED_EQ, kWriting & ~O_DIRECTORY, 0U));
  const auto self = static_cast<scmp_datum_t>(getpid());
  seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_EQ, self, 0));
  seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1, SCMP_A2(SCMP_CMP_EQ, 0, 0));
  seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOTTY), SCMP_SYS(ioctl), 0);
  if (!threads) return;
  // clone3 keeps its flags in memory, out of the filter's sight; the C library falls back to clone.
  seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
  seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD));
  seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(rt_sigaction), 0);
  seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sched_setaffinity), 0);
}

}  // namespace

bool become_nobody() {
  if (geteuid() != 0) return false;
  return setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
         setresuid(kNobody, kNobody, kNobody) == 0;
}

bool filter_system_calls(bool threads) {
  scmp_filter_ctx filter = seccomp_init(SCMP_ACT_TRAP);
  if (filter == nullptr) return false;
  for (const int call : kAllowed) seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
  allow_with_conditions(filter, threads);
  const bool loaded = seccomp_load(filter) == 0;
  seccomp_release(filter);
  return loaded;
}

bool enter_namespaces() {
  return unshare(CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) == 0;
}

void join_cgroups(const char* files) {
  std::string rest = files;
  while (!rest.empty() && rest != "-") {
    const std::size_t end = rest.find(':');
    const int fd = open(rest.substr(0, end).c_str(), O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
      [[maybe_unused]] const ssize_t written = write(fd, "0", 1);
      close(fd);
    }
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
}

std::uint32_t enter_sandbox(const RunnerSetup& setup) {
  std::uint32_t missing = 0;
  set_limits(setup);
  const bool root = geteuid() == 0;
  if (!enter_namespaces()) missing |= kNoNamespaces;
  const std::array paths = {LandlockPath{setup.folder}};
  if (!restrict_with_landlock(paths)) missing |= kNoLandlock;
  if (chroot(setup.folder) != 0 || chdir("/") != 0) missing |= kNoFolder;
  if (root && !become_nobody()) missing |= kNoUser;
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!filter_system_calls(setup.threads > 1)) missing |= kNoSystemCallFilter;
  return missing;
}

std::uint32_t enter_compiler_sandbox(const char* folder, const char* compiler) {
  std::uint32_t missing = 0;
  if (!enter_namespaces()) missing |= kNoNamespaces;
  std::vector<LandlockPath> paths = {
      {"/usr"}, {"/bin"}, {"/lib"}, {"/lib64"}, {"/etc/alternatives"}, {"/etc/ld.so.cache"}};
  std::error_code fault;
  const std::filesystem::path installed = std::filesystem::canonical(compiler, fault).parent_path();
  // A compiler of its own prefix: prefix/bin/g++ with prefix/lib. One that is not below `bin` is a single program.
  if (!fault) paths.push_back({installed.filename() == "bin" ? installed.parent_path().string() : installed.string()});
  paths.push_back({folder, true});
  paths.push_back({"/dev/null", true});
  if (!restrict_with_landlock(paths)) missing |= kNoLandlock;
  return missing;
}

}  // namespace kc
