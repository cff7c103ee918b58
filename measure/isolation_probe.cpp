#include "measure/isolation_probe.h"

#include <fcntl.h>
#include <net/if.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "measure/landlock.h"
#include "measure/runner_sandbox.h"

namespace kc {
namespace {

constexpr int kHeld = 0;
constexpr int kFailed = 1;
constexpr int kUnavailable = 2;
constexpr const char* kSystemFile = "/etc/passwd";
constexpr std::size_t kMuchMemory = std::size_t{256} << 20;
constexpr int kManyProcesses = 64;

bool can_read(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

int verdict(bool held) { return held ? kHeld : kFailed; }

int probe_namespaces() {
  if (!enter_namespaces()) return kUnavailable;
  int interfaces = 0;
  if (struct if_nameindex* names = if_nameindex()) {
    while (names[interfaces].if_index != 0) ++interfaces;
    if_freenameindex(names);
  }
  return verdict(interfaces <= 1);  // the loopback interface, which is down
}

int probe_folder(const char* folder) {
  enter_namespaces();  // without root, a user namespace gives the right to change the root folder
  if (chroot(folder) != 0 || chdir("/") != 0) return kUnavailable;
  return verdict(!can_read(kSystemFile));
}

int probe_user() {
  if (geteuid() == 0 && !become_nobody()) return kUnavailable;
  return verdict(geteuid() != 0 && setuid(0) != 0);
}

int probe_landlock(const char* folder) {
  const std::array paths = {LandlockPath{folder}};
  if (!restrict_with_landlock(paths)) return kUnavailable;
  return verdict(can_read(folder) && !can_read(kSystemFile));
}

int probe_limits() {
  const rlimit both{kMuchMemory / 2, kMuchMemory / 2};
  if (setrlimit(RLIMIT_AS, &both) != 0) return kUnavailable;
  return verdict(mmap(nullptr, kMuchMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
}

int probe_filter() {
  if (!filter_system_calls(false)) return kUnavailable;
  socket(AF_INET, SOCK_STREAM, 0);
  return kFailed;
}

int probe_memory(const char* cgroups) {
  join_cgroups(cgroups);
  void* memory = mmap(nullptr, kMuchMemory, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory != MAP_FAILED) std::memset(memory, 1, kMuchMemory);
  return kFailed;
}

int probe_processes(const char* cgroups) {
  join_cgroups(cgroups);
  bool refused = false;
  for (int i = 0; i < kManyProcesses && !refused; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    refused = child < 0;
  }
  return verdict(refused);  // the doctor kills the group
}

}  // namespace

int probe_isolation(const char* part, const char* folder, const char* cgroups) {
  const auto is = [&](const char* name) { return std::strcmp(part, name) == 0; };
  if (is("namespaces")) return probe_namespaces();
  if (is("folder")) return probe_folder(folder);
  if (is("user")) return probe_user();
  if (is("landlock")) return probe_landlock(folder);
  if (is("limits")) return probe_limits();
  if (is("filter")) return probe_filter();
  if (is("cgroup-memory")) return probe_memory(cgroups);
  if (is("cgroup-pids")) return probe_processes(cgroups);
  return kUnavailable;
}

}  // namespace kc
