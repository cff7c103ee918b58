#include "base/printable.h"

#include <fmt/format.h>

namespace kc {
namespace {

bool is_control(unsigned char c) { return c < 0x20 || c == 0x7F; }

std::string escaped(unsigned char c) {
  if (c == '\n') return "\\n";
  if (c == '\t') return "\\t";
  return fmt::format("\\x{:02x}", c);
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : '\0');
    if (is_control(c) && kept.find(text[i]) == std::string_view::npos) {
      shown += escaped(c);
    } else if (c == 0xC2 && next >= 0x80 && next <= 0x9F) {  // U+0080 to U+009F in UTF-8
      shown += escaped(next);
      ++i;
    } else {
      shown += text[i];
    }
  }
  return shown;
}

}  // namespace kc
