#pragma once
#include <string>
#include <string_view>

namespace kc {

// A text from outside (a tensor's name, a file's, a key's) as a message or a table may show it: control characters of
// ASCII and of Unicode (C1), with which it could move the cursor, recolour or forge lines, become "\n", "\t" or "\x1b",
// and bytes that are not UTF-8, which JSON cannot hold, "\xff". All else stays, backslashes too, so that printing what
// is printable already changes nothing. Those in `kept` stay.
std::string printable(std::string_view text, std::string_view kept = {});

}  // namespace kc
