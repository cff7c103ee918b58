#include "cuda/leading_headers.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/pattern.h"
#include "cuda/source_check.h"

namespace kc {
namespace {

struct WordHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>{}(word); }
};
using Words = std::unordered_set<std::string, WordHash, std::equal_to<>>;

// The names in a header and in all that it may include, whatever its conditionals say.
struct Vocabulary {
  Words names;
  bool complete = true;  // false: something that is included is not known

  // A name that pasting may put together in there counts as one of them.
  bool may_hold(const std::string& name) const {
    constexpr std::string_view kOfTheToolkit[] = {"CUB_", "CCCL_", "THRUST_", "NV_", "CUDA", "CG_"};
    const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
    return !complete || name.starts_with("_") || name.find("__") != std::string::npos ||
           std::any_of(std::begin(kOfTheToolkit), std::end(kOfTheToolkit), begins) || names.contains(name);
  }
};

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

}  // namespace

struct LeadingHeaders::Impl {
  // The file that <name> means, as text; empty when the toolkit has none. Asked for by every line of a thousand files.
  const std::string& find(const std::string& name) {
    const auto [entry, is_new] = found.try_emplace(name);
    if (!is_new || name.starts_with('/')) return entry->second;  // `folder / name` would be `name`
    for (const auto& folder : folders) {
      const std::string file = folder.string() + "/" + name;
      struct stat status = {};
      if (stat(file.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
      entry->second = file;
      break;
    }
    return entry->second;
  }

  // Where a macro names the file that `from` includes (Thrust's systems), it may be any of the library's own.
  void add_library(const std::string& from, std::vector<std::string>& queue, Vocabulary& known) const {
    for (const auto& folder : folders) {
      const std::string root = folder.string() + "/";
      const std::size_t end = from.find('/', root.size());
      if (!from.starts_with(root) || end == std::string::npos) continue;
      std::error_code fault;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(from.substr(0, end), fault)) {
        if (entry.is_regular_file(fault)) queue.push_back(entry.path().string());
      }
      known.complete = known.complete && !fault;
      return;
    }
    known.complete = false;
  }

  // What an #include line of `from` reads.
  void add_included(std::string_view target, const std::string& from, std::vector<std::string>& queue,
                    Vocabulary& known) {
    if (const auto name = file_between(target, '<', '>')) return queue.push_back(find(*name));
    const auto name = file_between(target, '"', '"');
    if (!name) return add_library(from, queue, known);
    // Without "a/../": files that include each other in this way would have no end of names.
    const std::string beside =
        std::filesystem::path(from.substr(0, from.rfind('/') + 1) + *name).lexically_normal().string();
    struct stat status = {};
    queue.push_back(stat(beside.c_str(), &status) == 0 ? beside : find(*name));
  }

  void read(const std::string& file, std::vector<std::string>& queue, Vocabulary& known) {
    std::string text;
    try {
      text = read_file(file);
    } catch (const Error&) {
      known.complete = false;
      return;
    }
    const std::string code = code_in_place(text);
    for_each_word(code, [&](std::string_view word) {
      if (!known.names.contains(word)) known.names.emplace(word);
    });
    for (std::size_t at = code.find('#'); at != std::string::npos; at = code.find('#', at + 1)) {
      const std::size_t end = std::min(code.find('\n', at), code.size());
      const auto directive = directive_of(std::string_view(code).substr(at, end - at));
      if (!directive || (directive->word != "include" && directive->word != "include_next")) continue;
      // The name between quotes is blank in `code`; what stands behind it is blank there, too, if it is a comment.
      const auto first = static_cast<std::size_t>(directive->rest.data() - code.data());
      add_included(std::string_view(text).substr(first, directive->rest.size()), file, queue, known);
    }
  }

  const Vocabulary& vocabulary(const std::string& header) {
    const auto [entry, is_new] = vocabularies.try_emplace(header);
    if (!is_new) return entry->second;
    std::unordered_set<std::string> seen = {""};
    for (std::vector<std::string> queue = {header}; !queue.empty();) {
      const std::string file = std::move(queue.back());
      queue.pop_back();
      if (seen.insert(file).second) read(file, queue, entry->second);
    }
    return entry->second;
  }

  // Whether it is a header of the toolkit that means the same before definitions and conditions of
  // these names as behind them.
  bool may_take(const std::string& name, const std::vector<std::string>& names) {
    const std::scoped_lock lock(mutex);
    const std::string file = name.find("..") == std::string::npos ? find(name) : "";
    if (file.empty()) found.erase(name);  // a candidate's words: no end of them
    if (file.empty() || names.empty()) return !file.empty();
    const Vocabulary& known = vocabulary(file);
    return std::none_of(names.begin(), names.end(), [&](const std::string& word) { return known.may_hold(word); });
  }

  const std::vector<std::filesystem::path> folders;
  const Pattern constant{
      R"((?:(?:static|constexpr|const)\s+)+(?:(?:unsigned|signed|long|short|int|float|double|bool|char)"
      R"()\s+)+(\w+)\s*=\s*-?([\w.]+)\s*;)"};
  std::mutex mutex;
  std::unordered_map<std::string, std::string> found;
  std::map<std::string, Vocabulary> vocabularies;
};

namespace {

// Reads a unit line by line as far as headers may be taken out of it.
class Reading {
 public:
  using Accepts = std::function<bool(const std::string& header, const std::vector<std::string>& names)>;
  Reading(const Pattern& constant, Accepts accepts) : constant_(constant), accepts_(std::move(accepts)) {}

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
    const auto constant = constant_.match(text);
    if (!constant || constant->begin != 0 || constant->end != text.size()) return false;
    for (const std::size_t group : {1, 2}) {
      for_each_word(constant->groups[group], [&](std::string_view word) { names_.emplace_back(word); });
    }
    return true;
  }

  bool header(std::string_view rest) {
    const auto name = file_between(rest, '<', '>');
    if (!name || !accepts_(*name, names_)) return false;
    headers_ += "#include <" + *name + ">\n";
    return true;
  }

  const Pattern& constant_;
  Accepts accepts_;
  int conditionals_ = 0;
  std::vector<std::string> names_;   // that were defined or asked for
  std::vector<std::string> bodies_;  // words in the macros
  std::string headers_;
};

}  // namespace

LeadingHeaders::LeadingHeaders(std::vector<std::filesystem::path> folders)
    : impl_(std::make_unique<Impl>(std::move(folders))) {}
LeadingHeaders::~LeadingHeaders() = default;

std::string LeadingHeaders::of(std::string_view unit, std::size_t source_begin) {
  if (unit.find("include", source_begin) == std::string_view::npos) return {};
  Reading reading(impl_->constant, [&](const std::string& name, const std::vector<std::string>& names) {
    return impl_->may_take(name, names);
  });
  for_each_line(code_in_place(unit), [&](std::size_t at, std::string_view line) {
    if (at >= source_begin) return reading.line(line);
    reading.ours(line);
    return true;
  });
  return std::move(reading).headers();
}

}  // namespace kc
