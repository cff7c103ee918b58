#include "dataset/ordered_lines.h"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace kc {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void fail(const std::filesystem::path& path, std::size_t line, const std::string& what) {
  throw Error(ErrorKind::bad_data, fmt::format("{}:{}: {}", path.string(), line, what));
}

class Lines {
 public:
  explicit Lines(const std::filesystem::path& path) : path_(path), file_(gzopen(path.c_str(), "rb"), gzclose) {
    if (file_ == nullptr)
      throw Error(ErrorKind::bad_data, "cannot read " + path.string() + ": " + std::strerror(errno));
    gzbuffer(file_.get(), 1 << 17);
  }

  bool next(std::string& line) {
    line.clear();
    while (gzgets(file_.get(), chunk_.data(), static_cast<int>(chunk_.size())) != nullptr) {
      line += chunk_.data();
      if (line.ends_with('\n')) return true;
    }
    int code = Z_OK;
    const std::string why = gzerror(file_.get(), &code);
    if (code != Z_OK && code != Z_STREAM_END) {
      throw Error(ErrorKind::bad_data,
                  "cannot read " + path_.string() + ": the compressed file is damaged or ends too early (" + why + ")");
    }
    return !line.empty();
  }

 private:
  const std::filesystem::path& path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
  std::array<char, 1 << 16> chunk_{};
};

}  // namespace

void for_each_ordered_line(const std::filesystem::path& path, const std::function<void(const ordered_json&)>& visit) {
  Lines lines(path);
  std::string line;
  for (std::size_t number = 1; lines.next(line); ++number) {
    if (line.find_first_not_of(" \t\r\n") == std::string::npos) continue;
    if (nested_too_deep(line)) fail(path, number, "lists or objects are nested too deep");
    try {
      visit(ordered_json::parse(line));
    } catch (const ordered_json::exception& error) {
      const std::string text = error.what();
      const std::size_t end = text.find("] ");
      fail(path, number, "not a row of the expected form: " + (end == std::string::npos ? text : text.substr(end + 2)));
    } catch (const Error& error) {
      fail(path, number, error.what());
    }
  }
}

}  // namespace kc
