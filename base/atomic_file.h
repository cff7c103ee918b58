#pragma once
// Files and folders that are either whole or absent, whatever moment a process dies at. May block on the disk.
// Every failure (full disk, permission) throws Error{environment} that names the path; the old file stays as it was.
#include <filesystem>
#include <string>
#include <string_view>

namespace kc {

// Writes beside `path`, fsyncs, renames over it. Missing parent folders are made.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

// The whole file; Error{bad_data} when it is missing, unreadable or a device (but for /dev/null).
std::string read_file(const std::filesystem::path& path);

// A file built under a temporary name beside `path`, as a stream for example, and renamed into place by commit();
// removed when not committed. The folder must exist.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::filesystem::path& staging() const { return staging_; }
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path staging_;
};

// A folder built under a temporary name beside `path` and renamed into place by commit(); removed when not committed.
// An existing folder at `path` is replaced: the old one goes only after the new one is complete. Where the file system
// cannot do that, the constructor says so, before any work.
class AtomicFolder {
 public:
  explicit AtomicFolder(std::filesystem::path path);
  ~AtomicFolder();
  AtomicFolder(const AtomicFolder&) = delete;
  AtomicFolder& operator=(const AtomicFolder&) = delete;

  const std::filesystem::path& staging() const { return staging_; }
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path staging_;
  bool committed_ = false;
};

}  // namespace kc
