#pragma once
// A control group that bounds memory and processes of one untrusted program, where this user may make one: version 2
// with delegated controllers, or the version 1 controllers `memory` and `pids`.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kc {

class Cgroup {
 public:
  Cgroup() = default;  // none
  // Makes the group below this process's own; what is not permitted is left out and named by missing().
  Cgroup(std::uint64_t memory_bytes, std::uint64_t processes);
  ~Cgroup();  // removes it; its processes must have ended
  Cgroup(Cgroup&& other) noexcept;
  Cgroup& operator=(Cgroup&& other) noexcept;

  // "path:path" of the files by which a process joins (it writes 0), or "-": an argument of kernelcast-runner.
  std::string join_files() const;
  const std::string& missing() const { return missing_; }  // "", "memory", "pids" or "memory and pids"

 private:
  std::vector<std::filesystem::path> folders_;
  std::string missing_ = "memory and pids";
};

}  // namespace kc
