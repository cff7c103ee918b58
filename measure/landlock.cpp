#include "measure/landlock.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace kc {
namespace {

// The kernel's numbers (Documentation/userspace-api/landlock.rst): headers of older systems lack the later ones.
constexpr std::uint64_t kExecute = 1U << 0U;
constexpr std::uint64_t kWriteFile = 1U << 1U;
constexpr std::uint64_t kReadFile = 1U << 2U;
constexpr std::uint64_t kReadFolder = 1U << 3U;
constexpr std::uint64_t kAllOfAbi1 = (1U << 13U) - 1;
constexpr std::uint64_t kRefer = 1U << 13U;           // ABI 2
constexpr std::uint64_t kTruncate = 1U << 14U;        // ABI 3
constexpr std::uint64_t kControlDevices = 1U << 15U;  // ABI 5
constexpr std::uint64_t kTcp = 3;                     // bind and connect, ABI 4
constexpr std::uint64_t kScopes = 3;                  // abstract sockets and signals, ABI 6
constexpr int kRuleBeneath = 1;

struct Ruleset {
  std::uint64_t files;
  std::uint64_t network;
  std::uint64_t scopes;
};

struct __attribute__((packed)) BeneathRule {
  std::uint64_t allowed;
  std::int32_t parent;
};

std::uint64_t handled_files(int abi) {
  return kAllOfAbi1 | (abi >= 2 ? kRefer : 0) | (abi >= 3 ? kTruncate : 0) | (abi >= 5 ? kControlDevices : 0);
}

void allow(int ruleset, const LandlockPath& entry, std::uint64_t handled) {
  const int fd = ::open(entry.path.c_str(), O_PATH | O_CLOEXEC);
  if (fd < 0) return;
  struct stat info = {};
  const bool folder = ::fstat(fd, &info) == 0 && S_ISDIR(info.st_mode);
  std::uint64_t allowed = entry.writable ? handled : kExecute | kReadFile | kReadFolder;
  if (!folder) allowed &= kExecute | kReadFile | kWriteFile | kTruncate | kControlDevices;
  const BeneathRule rule{allowed & handled, fd};
  ::syscall(SYS_landlock_add_rule, ruleset, kRuleBeneath, &rule, 0);
  ::close(fd);
}

}  // namespace

int landlock_abi() {
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1);
  return abi > 0 ? static_cast<int>(abi) : 0;
}

bool restrict_with_landlock(std::span<const LandlockPath> paths) {
  const int abi = landlock_abi();
  if (abi == 0) return false;
  const Ruleset rules{handled_files(abi), kTcp, kScopes};
  const std::size_t known = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;  // bytes of the structure that this kernel has
  const int ruleset = static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, known, 0));
  if (ruleset < 0) return false;
  for (const LandlockPath& entry : paths) allow(ruleset, entry, rules.files);
  const bool done =
      ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::syscall(SYS_landlock_restrict_self, ruleset, 0) == 0;
  ::close(ruleset);
  return done;
}

}  // namespace kc
