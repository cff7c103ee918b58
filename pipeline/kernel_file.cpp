#include "pipeline/kernel_file.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "base/source_text.h"

namespace kc {
namespace {

bool is_define(const std::string& line) { return line.starts_with("#define "); }

std::pair<std::string, std::string> split_define(const std::string& line) {
  const std::string rest = line.substr(8);
  const auto space = rest.find_first_of(" \t");
  if (space == std::string::npos) return {rest, ""};
  return {rest.substr(0, space), rest.substr(rest.find_first_not_of(" \t", space))};
}

std::string language_of(const std::filesystem::path& file) {
  const std::string extension = file.extension().string();
  if (extension == ".cu" || extension == ".cuh") return "cuda";
  if (extension == ".cl") return "opencl";
  if (extension == ".py") return "python";
  return extension == ".c" ? "c" : "cpp";
}

}  // namespace

KernelText read_kernel_file(const std::filesystem::path& file) {
  const std::string text = read_source_text(file);
  if (text.find('\0') != std::string::npos) throw Error(ErrorKind::bad_data, file.string() + ": not a text file");
  if (text.find_first_not_of(" \t\r\n\f\v") == std::string::npos) {
    throw Error(ErrorKind::bad_data, file.string() + ": the file is empty; expected the source of a kernel");
  }
  KernelText kernel;
  kernel.language = language_of(file);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    if (!is_define(line)) break;
    kernel.parameters.push_back(split_define(line));
    begin = std::min(end + 1, text.size());
  }
  kernel.source = text.substr(begin);
  kernel.template_id = sha256_hex(kernel.source);
  return kernel;
}

}  // namespace kc
