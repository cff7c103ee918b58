#include "cuda/header_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cuda/directives.h"
#include "cuda/source_check.h"

namespace kc {
namespace {

// A name that pasting may put together in a header of the toolkit.
bool is_of_the_toolkit(std::string_view name) {
  constexpr std::string_view kBeginnings[] = {"_", "CUB_", "CCCL_", "THRUST_", "NV_", "CUDA", "CG_"};
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return std::any_of(std::begin(kBeginnings), std::end(kBeginnings), begins) || name.find("__") != std::string::npos;
}

std::size_t hash_of(std::string_view word) { return std::hash<std::string_view>{}(word); }

bool has(const HeaderFile& file, std::size_t hash) {
  return std::binary_search(file.words.begin(), file.words.end(), hash);
}

// "cub/block/block_reduce.cuh": each file has one such name.
bool is_plain_name(std::string_view name) {
  bool begins = true;
  for (const char c : name) {
    if (begins ? !is_word(c) : !is_word(c) && c != '.' && c != '/' && c != '-') return false;
    begins = c == '/';
  }
  return !begins;
}

}  // namespace

// The file that <name> means, as text; empty when the toolkit has none.
std::string HeaderFiles::find(const std::string& name) {
  if (const auto known = found_.find(name); known != found_.end()) return known->second;
  for (const auto& folder : folders_) {
    const std::string file = folder.string() + "/" + name;
    struct stat status = {};
    if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) return found_[name] = file;
  }
  return {};
}

// Where a macro names the file that `from` includes (Thrust's systems), it may be any of the library's own.
void HeaderFiles::add_library(const std::string& from, HeaderFile& file) const {
  for (const auto& folder : folders_) {
    const std::string root = folder.string() + "/";
    const std::size_t end = from.find('/', root.size());
    if (!from.starts_with(root) || end == std::string::npos) continue;
    std::error_code fault;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(from.substr(0, end), fault)) {
      if (entry.is_regular_file(fault)) file.includes.push_back(entry.path().string());
    }
    file.complete = file.complete && !fault;
    return;
  }
  file.complete = false;
}

// What an #include line of `from` reads.
void HeaderFiles::add_included(std::string_view target, const std::string& from, HeaderFile& file) {
  std::string included;
  if (const auto outside = file_between(target, '<', '>')) {
    included = find(*outside);
  } else if (const auto name = file_between(target, '"', '"')) {
    // Without "a/../": files that include each other in this way would have no end of names.
    included = std::filesystem::path(from.substr(0, from.rfind('/') + 1) + *name).lexically_normal().string();
    struct stat status = {};
    if (stat(included.c_str(), &status) != 0) included = find(*name);
  } else {
    add_library(from, file);
  }
  if (!included.empty()) file.includes.push_back(std::move(included));
}

HeaderFile HeaderFiles::read(const std::string& path) {
  HeaderFile file;
  std::string text;
  try {
    text = read_file(path);
  } catch (const Error&) {
    file.complete = false;
    return file;
  }
  const std::string code = code_in_place(text);
  for_each_word(code, [&](std::string_view word) { file.words.push_back(hash_of(word)); });
  std::sort(file.words.begin(), file.words.end());
  file.words.erase(std::unique(file.words.begin(), file.words.end()), file.words.end());
  file.words.shrink_to_fit();
  for (std::size_t at = code.find('#'); at != std::string::npos; at = code.find('#', at + 1)) {
    const std::size_t end = std::min(code.find('\n', at), code.size());
    const auto directive = directive_of(std::string_view(code).substr(at, end - at));
    if (!directive || (directive->word != "include" && directive->word != "include_next")) continue;
    // The name between quotes is blank in `code`; what stands behind it is blank there, too, if it is a comment.
    const auto first = static_cast<std::size_t>(directive->rest.data() - code.data());
    add_included(std::string_view(text).substr(first, directive->rest.size()), path, file);
  }
  return file;
}

// Each is read once, whatever candidates ask for.
const HeaderFile& HeaderFiles::file_at(const std::string& path) {
  const auto known = files_.find(path);
  return known != files_.end() ? known->second : files_.emplace(path, read(path)).first->second;
}

// Whether the header, or what it may include, holds one of these names.
bool HeaderFiles::may_hold(const std::string& header, const std::vector<std::string>& names) {
  if (std::any_of(names.begin(), names.end(), is_of_the_toolkit)) return true;
  std::vector<std::size_t> hashes;
  for (const std::string& name : names) hashes.push_back(hash_of(name));
  std::unordered_set<std::string_view> seen = {header};
  for (std::vector<std::string_view> queue = {header}; !queue.empty();) {
    const HeaderFile& file = file_at(std::string(queue.back()));
    queue.pop_back();
    if (!file.complete) return true;
    if (std::any_of(hashes.begin(), hashes.end(), [&](std::size_t hash) { return has(file, hash); })) return true;
    for (const std::string& included : file.includes) {
      if (seen.insert(included).second) queue.push_back(included);
    }
  }
  return false;
}

bool HeaderFiles::is_independent(const std::string& name, const std::vector<std::string>& names) {
  if (!is_plain_name(name)) return false;
  const std::scoped_lock lock(mutex_);
  const std::string header = find(name);
  return !header.empty() && (names.empty() || !may_hold(header, names));
}

}  // namespace kc
