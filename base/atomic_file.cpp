#include "base/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartialMark = ".partial-";

[[noreturn]] void fail(const std::string& action, const fs::path& path, int code) {
  throw Error(ErrorKind::environment, "cannot " + action + " " + path.string() + ": " + std::strerror(code) +
                                          "; check free space and permissions");
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }
  int close() { return ::close(std::exchange(fd_, -1)); }

 private:
  int fd_;
};

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

std::string partial_prefix(const fs::path& path) {
  std::string prefix = ".";
  prefix += path.filename().string();
  prefix += kPartialMark;
  return prefix;
}

fs::path partial_path(const fs::path& path) {
  static std::atomic<unsigned> count{0};
  return folder_of(path) / (partial_prefix(path) + std::to_string(::getpid()) + "-" + std::to_string(count++));
}

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) fail("make the folder", folder, error.value());
}

// Some file systems refuse fsync on folders; their renames are as durable as they can be.
void sync_folder(const fs::path& folder) {
  const FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0) fail("open the folder", folder, errno);
  if (::fsync(fd.get()) != 0 && errno != EINVAL) fail("flush the folder", folder, errno);
}

void sync_file(const fs::path& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) fail("open", path, errno);
  if (::fsync(fd.get()) != 0) fail("flush", path, errno);
}

void sync_tree(const fs::path& root) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root)) {
    if (entry.is_symlink()) continue;
    if (entry.is_directory()) sync_folder(entry.path());
    if (entry.is_regular_file()) sync_file(entry.path());
  }
  sync_folder(root);
}

void write_all(int fd, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void write_whole(const fs::path& partial, std::string_view bytes, const fs::path& path) {
  FileDescriptor fd(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (fd.get() < 0) fail("write", path, errno);
  write_all(fd.get(), bytes, path);
  if (fd.close() != 0) fail("write", path, errno);
}

bool process_is_gone(std::string_view name, const std::string& prefix) {
  int pid = 0;
  name.remove_prefix(prefix.size());
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return error == std::errc() && pid > 0 && ::kill(pid, 0) != 0 && errno == ESRCH;
}

// What a killed process left half-made beside `path`.
void remove_abandoned(const fs::path& path) {
  const std::string prefix = partial_prefix(path);
  std::error_code error;
  std::vector<fs::path> abandoned;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(path), error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && process_is_gone(name, prefix)) abandoned.push_back(entry.path());
  }
  for (const fs::path& old : abandoned) fs::remove_all(old, error);
}

bool exchange(const fs::path& one, const fs::path& other) {
  return ::renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE) == 0;
}

bool holds_something(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder, ignored) && !fs::is_empty(folder, ignored);
}

// What commit() will need to replace a folder that holds something, tried on two empty ones in `staging`: NFS, for one,
// cannot do it, and hours of work would end in that message.
void require_exchange(const fs::path& staging, const fs::path& path) {
  const fs::path one = staging / "one", other = staging / "other";
  make_folders(one);
  make_folders(other);
  const bool works = exchange(one, other);
  const int code = errno;
  std::error_code ignored;
  fs::remove_all(works ? one : staging, ignored);
  fs::remove_all(other, ignored);
  if (works) return;
  throw Error(ErrorKind::environment,
              "cannot replace " + path.string() + ": its file system cannot exchange two folders in one step (" +
                  std::strerror(code) + "): move the old folder away first, or give another place");
}

fs::path without_trailing_slash(fs::path path) { return path.has_filename() ? path : path.parent_path(); }

}  // namespace

void write_file_atomically(const fs::path& path, std::string_view bytes) {
  make_folders(folder_of(path));
  AtomicFile file(path);
  write_whole(file.staging(), bytes, path);
  file.commit();
}

std::string read_file(const fs::path& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const auto unreadable = [&path] {
    return Error(ErrorKind::bad_data, "cannot read " + path.string() + ": " + std::strerror(errno));
  };
  if (fd.get() < 0) throw unreadable();
  struct stat status = {};
  const bool is_device = ::fstat(fd.get(), &status) == 0 && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode));
  if (is_device && status.st_rdev != makedev(1, 3)) {  // /dev/null ends at once, others never
    throw Error(ErrorKind::bad_data, "cannot read " + path.string() + ": a device; give a file");
  }
  std::string bytes;
  std::string chunk(1 << 16, '\0');
  for (;;) {
    const ssize_t count = ::read(fd.get(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw unreadable();
    if (count == 0) return bytes;
    bytes.append(chunk, 0, static_cast<std::size_t>(count));
  }
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)) {
  remove_abandoned(path_);
  staging_ = partial_path(path_);
}

AtomicFile::~AtomicFile() { ::unlink(staging_.c_str()); }

void AtomicFile::commit() {
  sync_file(staging_);
  if (::rename(staging_.c_str(), path_.c_str()) != 0) fail("replace", path_, errno);
  sync_folder(folder_of(path_));
}

AtomicFolder::AtomicFolder(fs::path path) : path_(without_trailing_slash(std::move(path))) {
  make_folders(folder_of(path_));
  remove_abandoned(path_);
  staging_ = partial_path(path_);
  make_folders(staging_);
  if (holds_something(path_)) require_exchange(staging_, path_);
}

AtomicFolder::~AtomicFolder() {
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
}

void AtomicFolder::commit() {
  if (committed_) throw Error(ErrorKind::internal, "AtomicFolder: commit() called twice for " + path_.string());
  sync_tree(staging_);
  if (::rename(staging_.c_str(), path_.c_str()) != 0) {
    // The folder exists and is not empty: swap the two in one step; the destructor then removes the old one.
    if (!exchange(staging_, path_)) fail("replace", path_, errno);
  }
  sync_folder(folder_of(path_));
  committed_ = true;
  std::error_code ignored;
  fs::remove_all(staging_, ignored);
}

}  // namespace kc
