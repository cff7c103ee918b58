#include "base/json.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/printable.h"

namespace kc {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr int kDeepest = 500;

Error too_deep(const std::string& where) {
  return {ErrorKind::bad_data, where + ": lists or objects nested more than " + std::to_string(kDeepest) + " deep"};
}

// Bytes that are not UTF-8 (a compiler's log, say) become U+FFFD instead of an exception.
std::string dump(const json& value, int indent) {
  return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

// The library's text without its own prefix "[json.exception.parse_error.101] ".
std::string reason(const json::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.find("] ");
  return end == std::string::npos ? text : text.substr(end + 2);
}

// Lines of a plain or gzip file; zlib passes plain files through.
class LineReader {
 public:
  explicit LineReader(const fs::path& path) : path_(path), file_(gzopen(path.c_str(), "rb")) {
    if (file_ == nullptr) fail(std::strerror(errno));
    gzbuffer(file_, 1 << 17);
  }
  ~LineReader() { gzclose(file_); }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  bool next(std::string& line) {
    line.clear();
    while (gzgets(file_, chunk_.data(), static_cast<int>(chunk_.size())) != nullptr) {
      line += chunk_.data();
      if (line.ends_with('\n')) return true;
    }
    check();
    return !line.empty();
  }

 private:
  void check() {
    int code = Z_OK;
    const char* text = gzerror(file_, &code);
    if (code == Z_OK || code == Z_STREAM_END) return;
    fail(code == Z_ERRNO ? std::strerror(errno) : code == Z_BUF_ERROR ? "the compressed file ends too early" : text);
  }
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorKind::bad_data, "cannot read " + path_.string() + ": " + why);
  }

  fs::path path_;
  gzFile file_;
  std::array<char, 1 << 16> chunk_{};
};

void cut_after_last_newline(const fs::path& path) {
  if (!fs::exists(path)) return;
  const std::string bytes = read_file(path);
  const std::size_t last = bytes.rfind('\n');
  const std::size_t whole = last == std::string::npos ? 0 : last + 1;
  if (whole == bytes.size()) return;
  std::error_code error;
  fs::resize_file(path, whole, error);
  if (error) throw Error(ErrorKind::environment, "cannot repair " + path.string() + ": " + error.message());
}

}  // namespace

bool nested_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size() && depth <= kDeepest; ++i) {
    const char c = text[i];
    if (c == '"') in_string = !in_string;
    if (in_string) {
      if (c == '\\') ++i;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return depth > kDeepest;
}

json parse_json(std::string_view text, const std::string& where) {
  if (nested_too_deep(text)) throw too_deep(where);
  std::vector<std::set<std::string>> open_objects;
  std::string twice;
  const json::parser_callback_t watch = [&](int, json::parse_event_t event, json& parsed) {
    if (event == json::parse_event_t::object_start) open_objects.emplace_back();
    if (event == json::parse_event_t::object_end) open_objects.pop_back();
    if (event == json::parse_event_t::key && !open_objects.back().insert(parsed.get<std::string>()).second)
      twice = parsed.get<std::string>();
    return true;
  };
  json value;
  try {
    value = json::parse(text, watch);
  } catch (const json::exception& error) {
    throw Error(ErrorKind::bad_data, where + ": not valid JSON: " + reason(error));
  }
  if (!twice.empty())
    throw Error(ErrorKind::bad_data,
                where + ": key \"" + printable(twice) + "\" stands twice in one object: remove one of them");
  return value;
}

std::string shown(const json& value) {
  constexpr std::size_t kMostEntries = 16;
  constexpr std::size_t kLongestText = 100;
  if (value.is_object()) return "an object";
  if (value.is_array()) {
    const bool flat = std::ranges::none_of(value, [](const json& entry) { return entry.is_structured(); });
    if (!flat || value.size() > kMostEntries) return "a list";
    std::string list;
    for (const json& entry : value) list += (list.empty() ? "" : ",") + shown(entry);
    return "[" + list + "]";
  }
  if (value.is_string() && value.get_ref<const std::string&>().size() > kLongestText)
    return printable(dump(value.get_ref<const std::string&>().substr(0, kLongestText) + "...", -1));
  return printable(dump(value, -1));
}

json read_json_file(const fs::path& path) { return parse_json(read_file(path), path.string()); }

json read_folder_json(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status))
    throw Error(ErrorKind::bad_data, path.string() + ": is a pipe or a device: expected a regular file");
  return read_json_file(path);
}

void write_json_file(const fs::path& path, const json& value) { write_file_atomically(path, dump(value, 2) + "\n"); }

void for_each_json_line(const fs::path& path, const std::function<void(const json&, std::size_t)>& visit) {
  LineReader reader(path);
  std::string line;
  for (std::size_t number = 1; reader.next(line); ++number) {
    if (line.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    const std::string where = path.string() + ":" + std::to_string(number);
    if (nested_too_deep(line)) throw too_deep(where);
    json value;
    try {
      value = json::parse(line);
    } catch (const json::exception& error) {
      throw Error(ErrorKind::bad_data, where + ": not a valid JSON line: " + reason(error));
    }
    visit(value, number);
  }
}

JsonLinesWriter::JsonLinesWriter(const fs::path& path, Mode mode) : path_(path) {
  if (path.has_parent_path()) {
    std::error_code error;
    fs::create_directories(path.parent_path(), error);
  }
  if (mode == Mode::append_repairing) cut_after_last_newline(path);
  // Unbuffered, so that each write() below is one system call.
  file_.rdbuf()->pubsetbuf(nullptr, 0);
  file_.open(path, std::ios::binary | (mode == Mode::truncate ? std::ios::trunc : std::ios::app));
  if (!file_)
    throw Error(ErrorKind::environment, "cannot open " + path.string() + " for writing: " + std::strerror(errno));
}

void JsonLinesWriter::write(const json& value) {
  const std::string line = dump(value, -1) + "\n";
  file_.write(line.data(), static_cast<std::streamsize>(line.size()));
  file_.flush();
  if (!file_) throw Error(ErrorKind::environment, "cannot write " + path_.string() + ": " + std::strerror(errno));
}

}  // namespace kc
