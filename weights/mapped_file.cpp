#include "weights/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace kc {
namespace {

struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) close(value);
  }
};

[[noreturn]] void fail(const std::filesystem::path& path, const char* what) {
  throw Error(ErrorKind::bad_data, fmt::format("{}: cannot be {}: {}", path.string(), what, std::strerror(errno)));
}

}  // namespace

MappedFile::MappedFile(std::filesystem::path path) : path_(std::move(path)) {
  // Not to wait for a writer where the name is a pipe.
  const Descriptor file{open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status{};
  if (file.value < 0 || fstat(file.value, &status) != 0) fail(path_, "opened");
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorKind::bad_data, fmt::format("{}: cannot be opened: not a regular file", path_.string()));
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return;
  void* base = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.value, 0);
  if (base == MAP_FAILED) fail(path_, "mapped");
  bytes_ = {static_cast<const std::byte*>(base), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

void MappedFile::fetch(std::span<const std::byte> part) const {
#ifdef MADV_POPULATE_READ
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t from = reinterpret_cast<std::uintptr_t>(part.data()) & ~(page - 1);
  const std::uintptr_t to = reinterpret_cast<std::uintptr_t>(part.data()) + part.size();
  if (to > from)
    madvise(reinterpret_cast<void*>(from), to - from, MADV_POPULATE_READ);  // NOLINT(performance-no-int-to-ptr)
#else
  (void)part;
#endif
}

void MappedFile::release(std::span<const std::byte> part) const {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t from = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) & ~(page - 1);
  const std::uintptr_t to = (reinterpret_cast<std::uintptr_t>(part.data()) + part.size()) & ~(page - 1);
  if (to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace kc
