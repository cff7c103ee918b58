#pragma once
#include <filesystem>

namespace kc {

// Held by the one process that may change a store: an flock on FILE.lock, which the kernel releases when the process
// dies however it dies. Does not wait: Error{environment} when another holds it.
class StoreLock {
 public:
  explicit StoreLock(const std::filesystem::path& store_file);
  ~StoreLock();
  StoreLock(const StoreLock&) = delete;
  StoreLock& operator=(const StoreLock&) = delete;

 private:
  std::filesystem::path path_;
  int fd_;
};

}  // namespace kc
