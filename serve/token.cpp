#include "serve/token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/hash.h"

namespace kc {
namespace {

constexpr std::size_t kTokenBytes = 24;

void make_token_file(const std::filesystem::path& file) {
  unsigned char bytes[kTokenBytes];
  if (::getentropy(bytes, sizeof bytes) != 0) throw Error(ErrorKind::environment, "the system gives no random bytes");
  std::string token;
  for (const unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  token += '\n';
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  const bool written = fd >= 0 && ::write(fd, token.data(), token.size()) == static_cast<ssize_t>(token.size());
  const int code = errno;
  if (fd >= 0) ::close(fd);
  if (!written) {
    throw Error(ErrorKind::environment,
                fmt::format("cannot make the token file {}: {}", file.string(), std::strerror(code)));
  }
}

}  // namespace

std::string fault_of_token(const std::string& token) {
  if (token.size() < kMinTokenLength) {
    return fmt::format("it has {} characters, and a token needs at least {}", token.size(), kMinTokenLength);
  }
  const bool plain = std::all_of(token.begin(), token.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (!plain) return "it holds other characters than printable ASCII, which no client could send";
  if (token.front() == ' ' || token.back() == ' ') return "it begins or ends with a space, which no client could send";
  return "";
}

std::string read_token_file(const std::filesystem::path& file, bool make) {
  if (make && !std::filesystem::exists(file)) make_token_file(file);
  struct stat info{};
  if (::stat(file.c_str(), &info) != 0) {
    throw Error(ErrorKind::bad_data,
                fmt::format("no token file {}: copy the one that `measure serve` made", file.string()));
  }
  if (S_ISDIR(info.st_mode)) {
    throw Error(ErrorKind::bad_data, fmt::format("{} is a folder, not a token file: name a file in it", file.string()));
  }
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw Error(ErrorKind::bad_data, fmt::format("others may read the token file {}: chmod 600 it", file.string()));
  }
  const std::string text = read_file(file);
  std::string token = text.substr(0, text.find_first_of("\r\n"));
  const std::string fault = fault_of_token(token);
  if (fault.empty()) return token;
  throw Error(
      ErrorKind::bad_data,
      fmt::format("the first line of the token file {} is no token: {}; name another file: `measure serve` makes "
                  "one that is not there",
                  file.string(), fault));
}

bool tokens_equal(const std::string& given, const std::string& expected) {
  // Of hashes, so that lengths do not show.
  const std::string a = sha256_hex(given), b = sha256_hex(expected);
  unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace kc
