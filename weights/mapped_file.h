#pragma once
// A file read through memory: bytes come from the disk when they are first touched.
#include <cstddef>
#include <filesystem>
#include <span>

namespace kc {

class MappedFile {
 public:
  // Error{bad_data} names the file when it cannot be opened or mapped. An empty file has no bytes.
  explicit MappedFile(std::filesystem::path path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }

  // Hints, thread-safe: `part` of bytes() is read now in one go; it is not needed any more, so its pages stop counting
  // as this process's memory (they come back when touched again).
  void fetch(std::span<const std::byte> part) const;
  void release(std::span<const std::byte> part) const;

 private:
  std::filesystem::path path_;
  std::span<const std::byte> bytes_;
};

}  // namespace kc
