#include "dataset/store_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

// The file may have been removed by the process that held it before; a lock on it would then exclude nobody.
bool still_named(int fd, const fs::path& path) {
  struct stat held = {};
  struct stat named = {};
  return ::fstat(fd, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_ino == named.st_ino &&
         held.st_dev == named.st_dev;
}

}  // namespace

StoreLock::StoreLock(const fs::path& store_file) : path_(store_file.string() + ".lock"), fd_(-1) {
  std::error_code ignored;
  if (path_.has_parent_path()) fs::create_directories(path_.parent_path(), ignored);
  for (;;) {
    fd_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd_ < 0) {
      throw Error(ErrorKind::environment, "cannot make " + path_.string() + ": " + std::strerror(errno) +
                                              "; check the folder, free space and permissions");
    }
    if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
      ::close(fd_);
      throw Error(ErrorKind::environment,
                  "another process is writing to " + store_file.string() + "; wait for it to end, or stop it");
    }
    if (still_named(fd_, path_)) return;
    ::close(fd_);
  }
}

StoreLock::~StoreLock() {
  ::unlink(path_.c_str());
  ::close(fd_);
}

}  // namespace kc
