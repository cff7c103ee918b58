#pragma once
// The toolkit's header files, and what names they hold.
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kc {

// What a file holds, whatever its conditionals say.
struct HeaderFile {
  std::vector<std::size_t> words;     // hashes, in order: two words of one hash are one word too many
  std::vector<std::string> includes;  // files
  bool complete = true;               // false: something that it includes is not known
};

// Each file is read once, whatever is asked for. Several threads may ask at once.
class HeaderFiles {
 public:
  explicit HeaderFiles(std::vector<std::filesystem::path> folders) : folders_(std::move(folders)) {}

  // Whether <name> is a header that means the same before definitions and conditions of these names as behind them:
  // neither it nor what it may include holds one, or may put one together. Only the plain name of a file is one
  // ("cub/block/block_reduce.cuh", without "." and "..").
  bool is_independent(const std::string& name, const std::vector<std::string>& names);

 private:
  std::string find(const std::string& name);
  HeaderFile read(const std::string& path);
  const HeaderFile& file_at(const std::string& path);
  void add_library(const std::string& from, HeaderFile& file) const;
  void add_included(std::string_view target, const std::string& from, HeaderFile& file);
  bool may_hold(const std::string& header, const std::vector<std::string>& names);

  const std::vector<std::filesystem::path> folders_;  // in search order
  std::mutex mutex_;
  std::unordered_map<std::string, std::string> found_;
  std::unordered_map<std::string, HeaderFile> files_;
};

}  // namespace kc
