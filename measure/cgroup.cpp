#include "measure/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <utility>

namespace kc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRoot = "/sys/fs/cgroup";
constexpr const char* kPrefix = "kernelcast-";

bool put(const fs::path& file, const std::string& text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return written;
}

// Folder of this process's group for a controller ("" for version 2); empty when there is none.
fs::path own_group(const std::string& controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos || line.substr(first + 1, second - first - 1) != controller) continue;
    const fs::path root = controller.empty() ? fs::path(kRoot) : fs::path(kRoot) / controller;
    fs::path group = root / line.substr(second + 2);
    std::error_code fault;
    // In a container the path is the host's, while the mounted tree starts at the container's own group.
    return fs::exists(group / "cgroup.procs", fault) ? group : fs::exists(root / "cgroup.procs", fault) ? root : "";
  }
  return "";
}

std::string unique_name() {
  static std::atomic<unsigned> made{0};
  return fmt::format("{}{}-{}", kPrefix, ::getpid(), made++);
}

// Groups whose harness was killed.
void remove_leftovers(const fs::path& parent) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    const int owner = std::atoi(name.c_str() + std::string(kPrefix).size());
    if (owner > 0 && ::kill(owner, 0) != 0 && errno == ESRCH) ::rmdir(entry.path().c_str());
  }
}

}  // namespace

Cgroup::Cgroup(std::uint64_t memory_bytes, std::uint64_t processes) {
  const std::string name = unique_name();
  bool has_memory = false, has_processes = false;
  const auto make = [&](const fs::path& parent) {
    if (parent.empty()) return false;
    remove_leftovers(parent);
    return ::mkdir((parent / name).c_str(), 0755) == 0;
  };
  if (fs::exists(fs::path(kRoot) / "cgroup.controllers")) {
    const fs::path parent = own_group("");
    put(parent / "cgroup.subtree_control", "+memory +pids");
    if (make(parent)) {
      folders_.push_back(parent / name);
      has_memory = put(folders_[0] / "memory.max", std::to_string(memory_bytes));
      has_processes = put(folders_[0] / "pids.max", std::to_string(processes));
    }
  } else {
    if (const fs::path parent = own_group("memory"); make(parent)) {
      folders_.push_back(parent / name);
      has_memory = put(folders_.back() / "memory.limit_in_bytes", std::to_string(memory_bytes));
    }
    if (const fs::path parent = own_group("pids"); make(parent)) {
      folders_.push_back(parent / name);
      has_processes = put(folders_.back() / "pids.max", std::to_string(processes));
    }
  }
  missing_ = has_memory ? (has_processes ? "" : "pids") : (has_processes ? "memory" : "memory and pids");
}

Cgroup::~Cgroup() {
  for (const fs::path& folder : folders_) {
    for (int tries = 0; ::rmdir(folder.c_str()) != 0 && errno == EBUSY && tries < 100; ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the last process is still on its way out
    }
  }
}

Cgroup::Cgroup(Cgroup&& other) noexcept
    : folders_(std::exchange(other.folders_, {})), missing_(std::move(other.missing_)) {}

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  std::swap(folders_, other.folders_);
  std::swap(missing_, other.missing_);
  return *this;
}

std::string Cgroup::join_files() const {
  std::string text;
  for (const fs::path& folder : folders_) text += (text.empty() ? "" : ":") + (folder / "cgroup.procs").string();
  return text.empty() ? "-" : text;
}

}  // namespace kc
