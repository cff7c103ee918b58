#include "dataset/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "dataset/record.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFileMark = "KCJRNL1\n";
constexpr std::string_view kRecordMark = "\x1eKCREC\x1e\n";
constexpr std::size_t kHashSize = 64;
constexpr std::size_t kHeadSize = kRecordMark.size() + sizeof(std::uint64_t) + kHashSize;

[[noreturn]] void fail(const std::string& action, const fs::path& path, int code) {
  throw Error(ErrorKind::environment, "cannot " + action + " the journal " + path.string() + ": " +
                                          std::strerror(code) + "; check free space and permissions");
}

// The payload of the whole record that begins at `position`.
std::optional<std::string_view> record_at(std::string_view bytes, std::size_t position) {
  const std::string_view rest = bytes.substr(position);
  if (rest.size() < kHeadSize || !rest.starts_with(kRecordMark)) return std::nullopt;
  std::uint64_t length = 0;
  std::memcpy(&length, rest.data() + kRecordMark.size(), sizeof(length));
  if (length > rest.size() - kHeadSize) return std::nullopt;
  const std::string_view payload = rest.substr(kHeadSize, length);
  const std::string_view hash = rest.substr(kRecordMark.size() + sizeof(length), kHashSize);
  if (sha256_hex(payload) != hash) return std::nullopt;
  return payload;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

void sync_folder_of(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail("reach the folder of", path, errno);
  const int status = ::fsync(fd);
  const int code = errno;
  ::close(fd);
  if (status != 0 && code != EINVAL) fail("flush the folder of", path, code);
}

}  // namespace

fs::path journal_path(const fs::path& store_file) { return fs::path(store_file.string() + ".journal"); }

JournalContents read_journal(const fs::path& journal) {
  JournalContents contents;
  if (!fs::exists(journal)) return contents;
  const std::string bytes = read_file(journal);
  // Shorter than its mark: the process that made it died before it could append anything.
  if (bytes.size() < kFileMark.size()) return contents;
  if (!bytes.starts_with(kFileMark)) {
    throw Error(ErrorKind::bad_data, journal.string() + " is not a label journal; move it away");
  }
  contents.whole_bytes = kFileMark.size();
  std::size_t position = kFileMark.size();
  while (position < bytes.size()) {
    if (const auto payload = record_at(bytes, position)) {
      if (position != contents.whole_bytes) ++contents.damaged_places;
      contents.measurements.push_back(decode(*payload));
      position += kHeadSize + payload->size();
      contents.whole_bytes = position;
    } else {
      position = std::min(bytes.find(kRecordMark, position + 1), bytes.size());
    }
  }
  return contents;
}

JournalWriter::JournalWriter(const fs::path& journal) : path_(journal), fd_(-1), size_(0) {
  size_ = read_journal(journal).whole_bytes;
  fd_ = ::open(journal.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (fd_ < 0) fail("open", path_, errno);
  try {
    if (::ftruncate(fd_, static_cast<off_t>(size_)) != 0) fail("repair", path_, errno);
    if (::lseek(fd_, 0, SEEK_END) < 0) fail("open", path_, errno);
    if (size_ == 0) {
      if (!write_all(fd_, kFileMark) || ::fsync(fd_) != 0) fail("write", path_, errno);
      size_ = kFileMark.size();
      sync_folder_of(path_);
    }
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

JournalWriter::~JournalWriter() { ::close(fd_); }

void JournalWriter::append(const Measurement& measurement) {
  const std::string payload = encode(measurement);
  const std::uint64_t length = payload.size();
  std::string record(kRecordMark);
  record.append(reinterpret_cast<const char*>(&length), sizeof(length));
  record += sha256_hex(payload);
  record += payload;
  if (write_all(fd_, record) && ::fsync(fd_) == 0) {
    size_ += record.size();
    return;
  }
  const int code = errno;
  // Best effort: a torn tail that stays is skipped by the reader.
  if (::ftruncate(fd_, static_cast<off_t>(size_)) == 0) ::lseek(fd_, static_cast<off_t>(size_), SEEK_SET);
  fail("write", path_, code);
}

}  // namespace kc
