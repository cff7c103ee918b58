#include "cuda/leading_headers.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cuda/source_check.h"

namespace kc {
namespace {

// A name that pasting may put together in a header of the toolkit.
bool is_of_the_toolkit(std::string_view name) {
  constexpr std::string_view kBeginnings[] = {"_", "CUB_", "CCCL_", "THRUST_", "NV_", "CUDA", "CG_"};
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return std::any_of(std::begin(kBeginnings), std::end(kBeginnings), begins) || name.find("__") != std::string::npos;
}

// What a file of the toolkit holds, whatever its conditionals say.
struct HeaderFile {
  std::vector<std::size_t> words;     // hashes, in order: two words of one hash are one word too many
  std::vector<std::string> includes;  // files
  bool complete = true;               // false: something that it includes is not known

  bool has(std::size_t hash) const { return std::binary_search(words.begin(), words.end(), hash); }
};

std::size_t hash_of(std::string_view word) { return std::hash<std::string_view>{}(word); }

// A candidate's head beyond these is not read on.
constexpr std::size_t kMostHeaders = 16;
constexpr std::size_t kMostNames = 256;
constexpr std::size_t kMostBytes = std::size_t{64} << 10;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\v\f";
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

// Takes the word at the head of `rest` away.
std::string_view take_word(std::string_view& rest) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), is_word);
  const std::string_view word = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  rest = trim(rest.substr(word.size()));
  return word;
}

struct Directive {
  std::string_view word, rest;
};

std::optional<Directive> directive_of(std::string_view line) {
  std::string_view rest = trim(line);
  if (!rest.starts_with('#')) return std::nullopt;
  rest = trim(rest.substr(1));
  const std::string_view word = take_word(rest);
  return Directive{word, rest};
}

// The file between these two characters, when nothing follows it.
std::optional<std::string> file_between(std::string_view text, char open, char close) {
  if (text.size() < 3 || text.front() != open || text.find(close, 1) != text.size() - 1) return std::nullopt;
  return std::string(text.substr(1, text.size() - 2));
}

template <class F>
void for_each_line(std::string_view text, const F& use) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (!use(at, text.substr(at, end - at))) return;
    at = end + 1;
  }
}

// Words that are no numbers.
template <class F>
void for_each_word(std::string_view code, const F& use) {
  for (std::size_t at = 0; at < code.size();) {
    if (!is_word(code[at])) {
      ++at;
      continue;
    }
    const auto end = std::find_if_not(code.begin() + static_cast<std::ptrdiff_t>(at), code.end(), is_word);
    const std::string_view word = code.substr(at, static_cast<std::size_t>(end - code.begin()) - at);
    if (std::isdigit(static_cast<unsigned char>(word[0])) == 0) use(word);
    at += word.size();
  }
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

struct LeadingHeaders::Impl {
  // The file that <name> means, as text; empty when the toolkit has none.
  std::string find(const std::string& name) {
    if (const auto known = found.find(name); known != found.end()) return known->second;
    for (const auto& folder : folders) {
      const std::string file = folder.string() + "/" + name;
      struct stat status = {};
      if (stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode)) return found[name] = file;
    }
    return {};
  }

  // Where a macro names the file that `from` includes (Thrust's systems), it may be any of the library's own.
  void add_library(const std::string& from, HeaderFile& file) const {
    for (const auto& folder : folders) {
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
  void add_included(std::string_view target, const std::string& from, HeaderFile& file) {
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

  HeaderFile read(const std::string& path) {
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
  const HeaderFile& file_at(const std::string& path) {
    const auto known = files.find(path);
    return known != files.end() ? known->second : files.emplace(path, read(path)).first->second;
  }

  // Whether the header, or what it may include, holds one of these names.
  bool may_hold(const std::string& header, const std::vector<std::string>& names) {
    if (std::any_of(names.begin(), names.end(), is_of_the_toolkit)) return true;
    std::vector<std::size_t> hashes;
    for (const std::string& name : names) hashes.push_back(hash_of(name));
    std::unordered_set<std::string_view> seen = {header};
    for (std::vector<std::string_view> queue = {header}; !queue.empty();) {
      const HeaderFile& file = file_at(std::string(queue.back()));
      queue.pop_back();
      if (!file.complete) return true;
      if (std::any_of(hashes.begin(), hashes.end(), [&](std::size_t hash) { return file.has(hash); })) return true;
      for (const std::string& included : file.includes) {
        if (seen.insert(included).second) queue.push_back(included);
      }
    }
    return false;
  }

  // Whether it is a header of the toolkit that means the same before definitions and conditions of these names as
  // behind them.
  bool may_take(const std::string& name, const std::vector<std::string>& names) {
    if (!is_plain_name(name)) return false;
    const std::scoped_lock lock(mutex);
    const std::string header = find(name);
    return !header.empty() && (names.empty() || !may_hold(header, names));
  }

  const std::vector<std::filesystem::path> folders;
  std::mutex mutex;
  std::unordered_map<std::string, std::string> found;
  std::unordered_map<std::string, HeaderFile> files;
};

namespace {

// "constexpr int N = 16;": the name; nothing for any other code.
std::optional<std::string_view> constant_in(std::string_view line) {
  constexpr std::string_view kTypes[] = {"static", "constexpr", "const", "unsigned", "signed", "long",
                                         "short",  "int",       "float", "double",   "bool",   "char"};
  const auto is_type = [&](std::string_view word) {
    return std::find(std::begin(kTypes), std::end(kTypes), word) != std::end(kTypes);
  };
  std::string_view word = take_word(line);
  bool is_constant = false;
  int types = 0;
  for (; is_type(word); word = take_word(line), ++types) is_constant = is_constant || word.starts_with("const");
  if (!is_constant || types < 2 || word.empty() || !line.starts_with('=')) return std::nullopt;
  line = trim(line.substr(1));
  if (line.starts_with('-')) line = trim(line.substr(1));
  if (line.empty() || std::isdigit(static_cast<unsigned char>(line[0])) == 0) return std::nullopt;
  const auto end = std::find_if_not(line.begin(), line.end(), [](char c) { return is_word(c) || c == '.'; });
  return trim(line.substr(static_cast<std::size_t>(end - line.begin()))) == ";" ? std::optional(word) : std::nullopt;
}

// Reads a unit line by line as far as headers may be taken out of it.
class Reading {
 public:
  using Accepts = std::function<bool(const std::string& header, const std::vector<std::string>& names)>;
  explicit Reading(Accepts accepts) : accepts_(std::move(accepts)) {}

  void ours(std::string_view line) {
    if (const auto directive = directive_of(line)) note_macro(*directive);
  }

  // False: nothing behind this line may be taken.
  bool line(std::string_view line) {
    const auto directive = directive_of(line);
    if (!directive) return code(trim(line));
    const std::string_view word = directive->word;
    if (note_macro(*directive) || word.empty() || word == "line") return true;
    if (word == "include" && conditionals_ == 0) return header(directive->rest);
    if (word == "pragma") return directive->rest == "once";
    if (word.starts_with("if")) ++conditionals_;
    if (word.starts_with("if") || word.starts_with("elif")) note_condition(directive->rest);
    const bool is_known = conditionals_ > 0 && word != "include" && word != "include_next";
    if (word == "endif") --conditionals_;
    return is_known;
  }

  std::string headers() && { return std::move(headers_); }

 private:
  bool note_macro(const Directive& directive) {
    if (directive.word != "define" && directive.word != "undef") return false;
    std::string_view rest = directive.rest;
    names_.emplace_back(take_word(rest));
    for_each_word(rest, [&](std::string_view word) { bodies_.emplace_back(word); });
    return true;
  }

  // What a header defines may decide it.
  void note_condition(std::string_view condition) {
    for_each_word(condition, [&](std::string_view word) {
      if (word != "defined") names_.emplace_back(word);
    });
    names_.insert(names_.end(), bodies_.begin(), bodies_.end());
    bodies_.clear();
  }

  bool code(std::string_view text) {
    if (text.empty()) return true;
    const auto constant = constant_in(text);
    if (!constant) return false;
    // A macro of one of these words would be code of any kind.
    bool is_plain = true;
    for_each_word(text, [&](std::string_view word) {
      is_plain = is_plain && std::find(names_.begin(), names_.end(), word) == names_.end();
    });
    names_.emplace_back(*constant);
    return is_plain;
  }

  bool header(std::string_view rest) {
    const auto name = file_between(rest, '<', '>');
    if (!name || names_.size() > kMostNames || ++count_ > kMostHeaders || !accepts_(*name, names_)) return false;
    headers_ += "#include <" + *name + ">\n";
    return true;
  }

  Accepts accepts_;
  int conditionals_ = 0;
  std::size_t count_ = 0;
  std::vector<std::string> names_;   // that were defined or asked for
  std::vector<std::string> bodies_;  // words in the macros
  std::string headers_;
};

// The lines that are read: up to one that goes on behind its end, or might (a trigraph), where words and comments are
// not what they look like.
std::string_view head_of(std::string_view unit, std::size_t source_begin) {
  const std::size_t end =
      std::min({unit.size(), source_begin + kMostBytes, unit.find('\\', source_begin), unit.find("??", source_begin)});
  return end == unit.size() ? unit : unit.substr(0, unit.rfind('\n', end) + 1);
}

}  // namespace

LeadingHeaders::LeadingHeaders(std::vector<std::filesystem::path> folders)
    : impl_(std::make_unique<Impl>(std::move(folders))) {}
LeadingHeaders::~LeadingHeaders() = default;

std::string LeadingHeaders::of(std::string_view unit, std::size_t source_begin) {
  source_begin = std::min(source_begin, unit.size());
  const std::string_view head = head_of(unit, source_begin);
  if (head.size() <= source_begin || head.find("include", source_begin) == std::string_view::npos) return {};
  Reading reading(
      [&](const std::string& name, const std::vector<std::string>& names) { return impl_->may_take(name, names); });
  for_each_line(code_in_place(head), [&](std::size_t at, std::string_view line) {
    if (at >= source_begin) return reading.line(line);
    reading.ours(line);
    return true;
  });
  return std::move(reading).headers();
}

}  // namespace kc
