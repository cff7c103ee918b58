#pragma once
// Compilations by content: in memory, then on disk. Failures are kept as well as successes.
#include <cstdint>
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

// Thread-safe. Several processes may share a folder: files are written whole and renamed, one process at a time removes
// old ones, and a file that is damaged or gone counts as absent.
class CompileCache {
 public:
  // `folder`: empty for memory only. Missing folders are made when something is kept.
  // Above `disk_bytes` the files that were not used for the longest time go, until nine tenths are left. What other
  // processes write is seen when this one has written a sixteenth of the limit: the folder may exceed it by so much for
  // each of them.
  CompileCache(std::filesystem::path folder, std::size_t memory_bytes, std::uintmax_t disk_bytes);

  std::optional<CachedCompilation> find(const std::string& key);  // `key`: 64 hexadecimal digits
  // A disk that is full or read-only costs the entry on disk, once with a warning.
  void keep(const std::string& key, const CachedCompilation& compilation, bool on_disk);

  // $XDG_CACHE_HOME/kernelcast/cubins or ~/.cache/kernelcast/cubins; empty when neither is known.
  static std::filesystem::path default_folder();

 private:
  std::filesystem::path file_of(const std::string& key) const;
  void note_written(std::uintmax_t bytes);
  void keep_in_memory(const std::string& key, const CachedCompilation& compilation);

  std::filesystem::path folder_;
  std::size_t memory_bytes_;
  std::mutex mutex_;
  std::unordered_map<std::string, CachedCompilation> entries_;
  std::deque<std::string> order_;
  std::size_t bytes_ = 0;
  bool disk_warned_ = false;
  std::uintmax_t disk_bytes_;
  std::mutex disk_mutex_;
  std::uintmax_t used_bytes_ = 0;    // of the folder when it was last looked through, and what was written since
  std::uintmax_t unseen_bytes_ = 0;  // written since then
  bool looked_ = false;
};

}  // namespace kc
