#include "base/source_text.h"

#include <string_view>

#include "base/atomic_file.h"

namespace kc {

std::string read_source_text(const std::filesystem::path& file) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  std::string text = read_file(file);
  if (text.starts_with(kMark)) text.erase(0, kMark.size());
  return text;
}

}  // namespace kc
