#include "cuda/gpu_sandbox.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "cuda/call_filter.h"
#include "measure/runner_protocol.h"

namespace kc {
namespace {

void write_text(const char* path, const std::string& text) {
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, text.data(), text.size());
  close(fd);
}

// Without root inside a user namespace in which this user keeps its number: the device nodes stay open to it.
bool enter_namespaces() {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | (user == 0 ? 0 : CLONE_NEWUSER)) != 0) return false;
  if (user == 0) return true;
  write_text("/proc/self/setgroups", "deny");
  write_text("/proc/self/uid_map", std::to_string(user) + " " + std::to_string(user) + " 1");
  write_text("/proc/self/gid_map", std::to_string(group) + " " + std::to_string(group) + " 1");
  return true;
}

}  // namespace

std::vector<LandlockPath> gpu_paths(const std::string& folder, const std::vector<std::string>& readable) {
  std::vector<LandlockPath> paths = {
      {"/usr"},  {"/lib"}, {"/lib64"},           {"/nix/store"},  {"/etc/nvidia"}, {"/run/opengl-driver"},
      {"/proc"}, {"/sys"}, {"/etc/ld.so.cache"}, {"/dev/random"}, {"/dev/urandom"}};
  for (const std::string& path : readable) paths.push_back({path});
  // The driver names its threads: a write to /proc/self/task/*/comm that fails ends cuInit with error 304.
  paths.push_back({"/proc/self", true});
  for (const char* device : {"/dev/null", "/dev/zero", "/dev/dxg"}) paths.push_back({device, true});
  std::error_code fault;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", fault)) {
    if (entry.path().filename().string().starts_with("nvidia")) paths.push_back({entry.path().string(), true});
  }
  paths.push_back({folder, true});
  return paths;
}

std::uint32_t enter_gpu_sandbox(const std::string& folder, const std::vector<std::string>& readable) {
  std::uint32_t missing = 0;
  setenv("TMPDIR", folder.c_str(), 1);
  if (!enter_namespaces()) missing |= kNoNamespaces;
  // A rule holds for the inode that it was made for: /proc/self must stay the same one.
  [[maybe_unused]] static const int own = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (!restrict_with_landlock(gpu_paths(folder, readable))) missing |= kNoLandlock;
  if (!filter_calls(Sockets::local, {})) missing |= kNoSystemCallFilter;
  return missing;
}

}  // namespace kc
