#include "cuda/worker_sandbox.h"

#include <grp.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "cuda/call_filter.h"
#include "cuda/nvrtc_protocol.h"
#include "measure/landlock.h"

namespace kc {
namespace {

constexpr unsigned kNobody = 65534;

// NVRTC computes: what the driver of a GPU may need is refused too.
constexpr int kRefused[] = {SCMP_SYS(socketpair), SCMP_SYS(connect), SCMP_SYS(bind),   SCMP_SYS(kill),
                            SCMP_SYS(tkill),      SCMP_SYS(shmget),  SCMP_SYS(msgget), SCMP_SYS(semget)};

bool restrict_files(const std::vector<std::string>& readable) {
  std::vector<LandlockPath> paths;
  for (const std::string& folder : readable) paths.push_back({folder});
  return restrict_with_landlock(paths);
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
  if (!filter_calls(Sockets::none, kRefused)) missing |= nvrtc::kNoSystemCallFilter;
  return missing;
}

}  // namespace kc
