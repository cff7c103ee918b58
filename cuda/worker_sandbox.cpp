#include "cuda/worker_sandbox.h"

#include <grp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>

#include "cuda/call_filter.h"
#include "cuda/namespaces.h"
#include "cuda/nvrtc_protocol.h"
#include "measure/landlock.h"

namespace kc {
namespace {

constexpr unsigned kNobody = 65534;

// NVRTC computes: what the driver of a GPU may need is refused too.
constexpr int kRefused[] = {SCMP_SYS(socketpair), SCMP_SYS(connect), SCMP_SYS(bind),   SCMP_SYS(kill),
                            SCMP_SYS(tkill),      SCMP_SYS(shmget),  SCMP_SYS(msgget), SCMP_SYS(semget)};

bool restrict_files(const std::vector<std::string>& readable, const std::string& writable) {
  std::vector<LandlockPath> paths;
  if (!writable.empty()) paths.push_back({writable, true});
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

// Mounts that nobody else sees.
bool enter_mount_namespace() {
  return enter_own_namespaces(CLONE_NEWNS) && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool can_read_all(const std::vector<std::string>& paths) {
  return std::all_of(paths.begin(), paths.end(),
                     [](const std::string& path) { return access(path.c_str(), R_OK) == 0; });
}

// A name that no source can guess: what lies in the folder depends on the sources before it.
std::string secret_name() {
  std::uint64_t bits[2] = {};
  if (getrandom(bits, sizeof bits, 0) != sizeof bits) return {};
  return std::to_string(bits[0]) + "-" + std::to_string(bits[1]);
}

}  // namespace

std::string make_private_folder(std::size_t bytes, const std::vector<std::string>& readable) {
  const std::string name = secret_name();
  if (name.empty() || !can_read_all(readable) || !enter_mount_namespace()) return {};
  const std::string options = "mode=0711,size=" + std::to_string(bytes);
  for (const std::string place : {"/mnt", "/media", "/srv", "/var/tmp", "/tmp"}) {
    struct stat status = {};
    if (lstat(place.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    if (mount("none", place.c_str(), "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options.c_str()) != 0) return {};
    const std::string folder = place + "/" + name;
    // What is to be read may lie behind this place, also by a link.
    if (can_read_all(readable) && mkdir(folder.c_str(), 0700) == 0 && chmod(folder.c_str(), 0777) == 0) return folder;
    umount2(place.c_str(), MNT_DETACH);
  }
  return {};
}

unsigned enter_worker_sandbox(const std::vector<std::string>& readable, const std::string& writable) {
  unsigned missing = 0;
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!become_another_user(readable)) missing |= nvrtc::kNoUser;
  if (!restrict_files(readable, writable)) missing |= nvrtc::kNoLandlock;
  if (!filter_calls(Sockets::none, kRefused)) missing |= nvrtc::kNoSystemCallFilter;
  return missing;
}

}  // namespace kc
