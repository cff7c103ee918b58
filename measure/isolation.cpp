#include "measure/isolation.h"

#include "base/error.h"
#include "base/log.h"
#include "measure/runner_protocol.h"

namespace kc {
namespace {

// Page tables, files and stacks: the limit of address space, whose errors a program can name, is to be met first.
constexpr std::uint64_t kSpareMemory = 64 << 20;

}  // namespace

bool is_confined(std::uint32_t missing) {
  const bool sees_files = (missing & kNoFolder) != 0 && (missing & kNoLandlock) != 0;
  return (missing & kNoSystemCallFilter) == 0 && !sees_files;
}

void report_missing(const std::string& mode, std::uint32_t missing) {
  if (missing == 0) return;
  std::string pieces;
  const auto add = [&](std::uint32_t bit, const char* name) {
    if ((missing & bit) != 0) pieces += (pieces.empty() ? "" : ", ") + std::string(name);
  };
  add(kNoNamespaces, "namespaces");
  add(kNoFolder, "root folder of its own");
  add(kNoUser, "user without rights");
  add(kNoSystemCallFilter, "system call filter (libseccomp)");
  add(kNoLandlock, "Landlock");
  const std::string message = "candidates run without this isolation: " + pieces;
  if (mode == "require") {
    throw Error(ErrorKind::environment, message + "; measure.sandbox is 'require' (docs/measurement.md, Isolation)");
  }
  if (!is_confined(missing)) {
    throw Error(ErrorKind::environment,
                message +
                    "; without it a candidate could reach files and programs of this machine. If you trust every "
                    "source, set measure.sandbox to 'off' (docs/measurement.md, Isolation)");
  }
  static std::uint32_t warned = 0;
  if ((missing & ~warned) != 0)
    log::warning("SANDBOX INCOMPLETE: " + message + ". Measure only sources that you trust.");
  warned |= missing;
}

Cgroup make_cgroup(const HostOptions& options, std::uint64_t processes) {
  if (options.sandbox == "off") return {};
  return {(static_cast<std::uint64_t>(options.memory_limit_mb) << 20) + kSpareMemory, processes};
}

}  // namespace kc
