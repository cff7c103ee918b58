#include "base/gzip.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace kc {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
  throw Error(ErrorKind::bad_data, "cannot read " + path.string() + ": " + why);
}

struct Close {
  void operator()(gzFile_s* file) const { gzclose(file); }
};

}  // namespace

std::string read_file_unpacked(const std::filesystem::path& path) {
  constexpr unsigned kChunk = 1U << 20;
  const std::unique_ptr<gzFile_s, Close> file(gzopen(path.c_str(), "rb"));
  if (file == nullptr) fail(path, std::strerror(errno));
  gzbuffer(file.get(), 1U << 17);
  std::string bytes;
  for (int got = 1; got > 0;) {
    const std::size_t size = bytes.size();
    bytes.resize(size + kChunk);
    got = gzread(file.get(), bytes.data() + size, kChunk);
    bytes.resize(size + static_cast<std::size_t>(got > 0 ? got : 0));
  }
  int code = Z_OK;
  const char* text = gzerror(file.get(), &code);
  if (code == Z_ERRNO) fail(path, std::strerror(errno));
  if (code != Z_OK && code != Z_STREAM_END)
    fail(path, code == Z_BUF_ERROR ? "the compressed file ends too early" : text);
  return bytes;
}

}  // namespace kc
