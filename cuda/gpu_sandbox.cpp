#include "cuda/gpu_sandbox.h"

#include <fcntl.h>
#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "cuda/call_filter.h"
#include "cuda/namespaces.h"
#include "measure/runner_protocol.h"

namespace kc {

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
  if (!folder.empty()) paths.push_back({folder, true});
  return paths;
}

std::vector<LandlockPath> host_code_paths(const std::vector<std::string>& readable) {
  std::vector<LandlockPath> paths = gpu_paths("", readable);
  std::erase_if(paths, [](const LandlockPath& path) { return path.path == "/proc"; });
  for (const char* file : {"driver", "devices", "cpuinfo", "meminfo", "version", "modules", "sys"}) {
    paths.push_back({std::string("/proc/") + file});
  }
  return paths;
}

std::uint32_t enter_gpu_sandbox(const std::string& folder, const std::vector<std::string>& readable) {
  std::uint32_t missing = 0;
  setenv("TMPDIR", folder.c_str(), 1);
  if (!enter_own_namespaces(CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)) missing |= kNoNamespaces;
  // A rule holds for the inode that it was made for: /proc/self must stay the same one.
  [[maybe_unused]] static const int own = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (!restrict_with_landlock(gpu_paths(folder, readable))) missing |= kNoLandlock;
  if (!filter_calls(Sockets::local, {})) missing |= kNoSystemCallFilter;
  return missing;
}

}  // namespace kc
