#pragma once
// Texts that a Python program writes in parts, to a file or an io.StringIO: what is there then is no part of it.
#include <map>
#include <optional>
#include <set>
#include <string>

#include "cuda/python_code.h"

namespace kc {

class PythonWriters {
 public:
  // Of `x.write(...)`, `x.writelines(...)`, `print(..., file=x)` and `x = io.StringIO(...)`. `code` outlives this.
  explicit PythonWriters(const PythonCode& code);

  struct Written {
    std::string buffer;                     // what it went to, where that is an io.StringIO
    std::optional<std::size_t> other_part;  // where the next or the last other part is written
  };
  // Of a text that stands in the bracket `open`; `is_part`: it is one of several in a list.
  Written written_at(std::size_t open, bool is_part) const;

 private:
  void note(std::size_t begin, std::size_t end);
  void note_write(std::string_view writer, std::size_t open);
  void note_buffer(std::size_t begin, std::size_t open);

  enum class Event { begins, write };
  const PythonCode& code_;
  std::map<std::string, std::map<std::size_t, Event>, std::less<>> events_;  // by what is written to, and place
  std::map<std::size_t, std::string> writer_at_;                             // by bracket
  std::set<std::string, std::less<>> buffers_;
  std::size_t named_buffer_ = PythonCode::kNone;  // the name in `with io.StringIO(HEAD) as name`: HEAD is written then
};

}  // namespace kc
