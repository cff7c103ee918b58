#include "pipeline/resources.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/atomic_file.h"
#include "base/error.h"

namespace kc {
namespace fs = std::filesystem;

fs::path project_root() {
  if (const char* home = std::getenv("KERNELCAST_HOME"); home != nullptr && *home != '\0') return home;
  return KC_SOURCE_DIR;
}

fs::path find_resource(const fs::path& path) {
  if (path.is_absolute() || fs::exists(path)) return path;
  const fs::path ours = project_root() / path;
  return fs::exists(ours) ? ours : path;
}

namespace {

// `best` and `latest` are links to, or small files naming, a folder of the run.
fs::path follow(const fs::path& run, const char* name) {
  const fs::path link = run / name;
  if (fs::is_directory(link)) return fs::canonical(link);
  if (!fs::is_regular_file(link)) return {};
  std::string target = read_file(link);
  while (!target.empty() && (target.back() == '\n' || target.back() == ' ')) target.pop_back();
  for (const fs::path& candidate : {run / target, run / "steps" / target}) {
    if (fs::exists(candidate / "manifest.json")) return candidate;
  }
  return {};
}

}  // namespace

fs::path find_checkpoint(const fs::path& path) {
  fs::path folder = find_resource(path);
  for (const char* file : {"manifest.json", "config.json", "adapter_config.json"})  // ours, published, an adapter
    if (fs::exists(folder / file)) return folder;
  for (const char* name : {"best", "latest", "warm_start"}) {
    const fs::path found = follow(folder, name);
    if (!found.empty() && fs::exists(found / "manifest.json")) return found;
  }
  throw Error(ErrorKind::bad_data,
              "no checkpoint at " + folder.string() +
                  ": expected a model folder (manifest.json, model.safetensors, ...) or a run folder with "
                  "best, latest or warm_start; train one with `train --config configs/brier.yaml`");
}

void require_writable_folder(const fs::path& folder) {
  std::error_code fault;
  fs::create_directories(folder, fault);
  std::string probe = (folder / ".kernelcast-XXXXXX").string();
  const int fd = fault ? -1 : ::mkostemp(probe.data(), O_CLOEXEC);
  if (fd < 0) {
    throw Error(ErrorKind::environment, folder.string() + ": cannot write there: " +
                                            (fault ? fault.message() : std::strerror(errno)) + "; give another folder");
  }
  ::close(fd);
  fs::remove(probe, fault);
}

std::string host_device_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const auto colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  throw Error(ErrorKind::environment, "/proc/cpuinfo names no processor model; give --hardware NAME");
}

}  // namespace kc
