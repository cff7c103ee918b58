#include "cuda/compile_cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "cuda/fields.h"
#include "measure/process.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "kernelcast-cubin-1\n";
constexpr std::size_t kDigits = 64;
constexpr const char* kLockName = ".lock";
constexpr std::uintmax_t kLooksPerLimit = 16;

// kMagic, the hash of the rest, the rest: fields as the worker's messages have them.
std::string to_bytes(const CachedCompilation& compilation) {
  const std::string body = pack_fields({compilation.ok ? "1" : "0", compilation.log, compilation.cubin});
  return std::string(kMagic) + sha256_hex(body) + body;
}

std::optional<CachedCompilation> from_bytes(const std::string& bytes) {
  const std::size_t head = kMagic.size() + kDigits;
  if (bytes.size() < head + sizeof(std::uint32_t) || !bytes.starts_with(kMagic)) return std::nullopt;
  const std::string body = bytes.substr(head);
  if (sha256_hex(body) != bytes.substr(kMagic.size(), kDigits)) return std::nullopt;
  auto fields = unpack_fields(body.substr(sizeof(std::uint32_t)));
  if (!fields || fields->size() != 3) return std::nullopt;
  return CachedCompilation{(*fields)[0] == "1", std::move((*fields)[1]), std::move((*fields)[2])};
}

std::size_t size_of(const CachedCompilation& compilation) {
  return compilation.log.size() + compilation.cubin.size() + 256;
}

struct CacheFile {
  fs::path path;
  fs::file_time_type used;
  std::uintmax_t bytes = 0;
};

// Whether `path` is one that file_of() gives: the folder's owner may keep other things in it.
bool is_entry(const fs::path& path) {
  const std::string key = path.filename().string();
  return key.size() == kDigits && key.find_first_not_of("0123456789abcdef") == std::string::npos &&
         path.parent_path().filename() == key.substr(0, 2);
}

// Only what the cache wrote counts. Files may go while this looks: other processes have rights too.
std::vector<CacheFile> files_below(const fs::path& folder) {
  std::vector<CacheFile> files;
  std::error_code fault;
  for (fs::recursive_directory_iterator it(folder, fault), end; !fault && it != end; it.increment(fault)) {
    std::error_code gone;
    if (it.depth() != 1 || !is_entry(it->path()) || it->is_symlink(gone) || !it->is_regular_file(gone)) continue;
    const CacheFile file{it->path(), it->last_write_time(gone), it->file_size(gone)};
    if (!gone) files.push_back(file);
  }
  return files;
}

// Removes what was not used for the longest time, where the folder holds more than `limit`. The bytes that are left;
// nothing when another process prunes the folder now.
std::optional<std::uintmax_t> prune(const fs::path& folder, std::uintmax_t limit) {
  const Descriptor lock(::open((folder / kLockName).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
  if (lock.get() < 0 || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  std::vector<CacheFile> files = files_below(folder);
  std::uintmax_t bytes = 0;
  for (const CacheFile& file : files) bytes += file.bytes;
  if (bytes <= limit) return bytes;
  std::sort(files.begin(), files.end(), [](const CacheFile& a, const CacheFile& b) { return a.used < b.used; });
  for (const CacheFile& file : files) {
    if (bytes <= limit / 10 * 9) break;
    std::error_code fault;
    fs::remove(file.path, fault);
    if (!fault) bytes -= file.bytes;
  }
  return bytes;
}

}  // namespace

CompileCache::CompileCache(fs::path folder, std::size_t memory_bytes, std::uintmax_t disk_bytes)
    : folder_(std::move(folder)), memory_bytes_(memory_bytes), disk_bytes_(disk_bytes) {}

fs::path CompileCache::default_folder() {
  const auto below = [](const char* variable) -> fs::path {
    const char* value = std::getenv(variable);
    return value == nullptr || *value != '/' ? fs::path() : fs::path(value);
  };
  if (const fs::path cache = below("XDG_CACHE_HOME"); !cache.empty()) return cache / "kernelcast" / "cubins";
  if (const fs::path home = below("HOME"); !home.empty()) return home / ".cache" / "kernelcast" / "cubins";
  return {};
}

fs::path CompileCache::file_of(const std::string& key) const { return folder_ / key.substr(0, 2) / key; }

void CompileCache::keep_in_memory(const std::string& key, const CachedCompilation& compilation) {
  if (!entries_.emplace(key, compilation).second) return;
  order_.push_back(key);
  bytes_ += size_of(compilation);
  while (bytes_ > memory_bytes_ && order_.size() > 1) {
    const auto oldest = entries_.find(order_.front());
    bytes_ -= size_of(oldest->second);
    entries_.erase(oldest);
    order_.pop_front();
  }
}

void CompileCache::note_written(std::uintmax_t bytes) {
  const std::scoped_lock lock(disk_mutex_);
  used_bytes_ += bytes;
  unseen_bytes_ += bytes;
  if (looked_ && used_bytes_ <= disk_bytes_ && unseen_bytes_ <= disk_bytes_ / kLooksPerLimit) return;
  const std::optional<std::uintmax_t> left = prune(folder_, disk_bytes_);
  if (!left) return;  // another process is at it
  used_bytes_ = *left;
  unseen_bytes_ = 0;
  looked_ = true;
}

std::optional<CachedCompilation> CompileCache::find(const std::string& key) {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto known = entries_.find(key); known != entries_.end()) return known->second;
  }
  if (folder_.empty()) return std::nullopt;
  std::ifstream file(file_of(key), std::ios::binary);
  if (!file) return std::nullopt;
  auto compilation = from_bytes(std::string(std::istreambuf_iterator<char>(file), {}));
  if (!compilation) return std::nullopt;
  std::error_code read_only;  // its age then stays what it was
  fs::last_write_time(file_of(key), fs::file_time_type::clock::now(), read_only);
  const std::scoped_lock lock(mutex_);
  keep_in_memory(key, *compilation);
  return compilation;
}

void CompileCache::keep(const std::string& key, const CachedCompilation& compilation, bool on_disk) {
  {
    const std::scoped_lock lock(mutex_);
    keep_in_memory(key, compilation);
  }
  if (folder_.empty() || !on_disk) return;
  try {
    const std::string bytes = to_bytes(compilation);
    write_file_atomically(file_of(key), bytes);
    note_written(bytes.size());
  } catch (const Error& e) {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(disk_warned_, true))
      log::warning(fmt::format("compilations are not kept on disk: {}", e.what()));
  }
}

}  // namespace kc
