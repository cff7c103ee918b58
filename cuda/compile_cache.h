#pragma once
// Compilations by content: in memory, then on disk. Failures are kept as well as successes.
#include <deque>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace kc {

struct CachedCompilation {
  bool ok = false;
  std::string log;
  std::string cubin;
};

// Thread-safe. Several processes may share a folder: files are written whole and renamed, and a damaged one counts as
// absent.
class CompileCache {
 public:
  // `folder`: empty for memory only. Missing folders are made when something is kept.
  explicit CompileCache(std::filesystem::path folder, std::size_t memory_bytes = std::size_t{256} << 20);

  std::optional<CachedCompilation> find(const std::string& key);  // `key`: 64 hexadecimal digits
  // A disk that is full or read-only costs the entry on disk, once with a warning.
  void keep(const std::string& key, const CachedCompilation& compilation, bool on_disk);

  // $XDG_CACHE_HOME/kernelcast/cubins or ~/.cache/kernelcast/cubins; empty when neither is known.
  static std::filesystem::path default_folder();

 private:
  std::filesystem::path file_of(const std::string& key) const;
  void keep_in_memory(const std::string& key, const CachedCompilation& compilation);

  std::filesystem::path folder_;
  std::size_t memory_bytes_;
  std::mutex mutex_;
  std::unordered_map<std::string, CachedCompilation> entries_;
  std::deque<std::string> order_;
  std::size_t bytes_ = 0;
  bool disk_warned_ = false;
};

}  // namespace kc
