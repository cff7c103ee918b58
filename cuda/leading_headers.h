#pragma once
// The toolkit headers that a source begins with. Reading them takes longer than the rest (a second for CUB or
// cooperative groups), and a compile worker can keep them read (precompiled_headers.h).
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace kc {

class LeadingHeaders {
 public:
  explicit LeadingHeaders(std::vector<std::filesystem::path> folders);  // of the toolkit, in search order
  ~LeadingHeaders();

  // The `#include <...>` lines that may as well stand in front of the whole unit, as text of one line each; empty when
  // there are none. That is so for headers of the toolkit outside of conditionals, behind nothing but comments, macros,
  // conditionals and constants of one number in lines of their own, as long as no name that was defined or asked for
  // before occurs in the header or in what it includes. Text before `source_begin` is ours: its declarations do not
  // count, its macros do. Reads the headers' texts (half a second for CUB, each file once) when they come behind a
  // macro for the first time. Several threads may ask at once.
  std::string of(std::string_view unit, std::size_t source_begin);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kc
