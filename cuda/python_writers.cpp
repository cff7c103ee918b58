#include "cuda/python_writers.h"

#include <algorithm>
#include <iterator>

namespace kc {
namespace {

constexpr int kMostBrackets = 8;  // around a text that is written

}  // namespace

PythonWriters::PythonWriters(const PythonCode& code) : code_(code) {
  for (std::size_t at = 0; at < code.text().size();) {
    const std::size_t end = code.end_of_word(at);
    if (end > at) note(at, end);
    at = std::max(end, at + 1);
  }
}

void PythonWriters::note(std::size_t begin, std::size_t end) {
  const std::string& text = code_.text();
  const std::string_view word = code_.word(begin, end);
  const std::size_t next = code_.skip_blanks_inside(end);
  const char follows = next < text.size() ? text[next] : '\n';
  if (follows == '(' && word == "StringIO") return note_buffer(begin, next);
  if (follows == '(' && (word == "write" || word == "writelines") && begin > 0 && text[begin - 1] == '.')
    return note_write(code_.word(code_.back_over_word(begin - 1), begin - 1), next);
  const bool assigned = follows == '=' && next + 1 < text.size() && text[next + 1] != '=';
  const std::size_t bracket = code_.bracket_of(begin);
  if (assigned && bracket == PythonCode::kNone) events_[std::string(word)].emplace(begin, Event::begins);
  if (assigned && bracket != PythonCode::kNone && word == "file" && code_.callee_of(bracket) == "print") {
    const std::size_t value = code_.skip_blanks(next + 1);
    std::size_t name_end = value;
    while (name_end < text.size() && (is_python_word(text[name_end]) || text[name_end] == '.')) ++name_end;
    note_write(last_word_of(code_.word(value, name_end)), bracket);
  }
  if (word == "as") {
    const std::size_t name = code_.skip_blanks_inside(end);
    if (name == named_buffer_) return;
    events_[std::string(code_.word(name, code_.end_of_word(name)))].emplace(name, Event::begins);
  }
}

void PythonWriters::note_write(std::string_view writer, std::size_t open) {
  if (writer.empty() || writer == "stdout" || writer == "stderr") return;
  writer_at_.emplace(open, writer);
  events_[std::string(writer)].emplace(open, Event::write);
}

void PythonWriters::note_buffer(std::size_t begin, std::size_t open) {
  std::string name = code_.assigned_at(code_.back_over_blanks(code_.back_over_name(begin + 1)));
  const std::size_t close = code_.behind_brackets(open);
  if (name.empty()) {  // with io.StringIO() as name
    const std::size_t as = code_.skip_blanks_inside(close);
    const std::size_t as_end = code_.end_of_word(as);
    const std::size_t begins = code_.skip_blanks_inside(as_end);
    if (code_.word(as, as_end) == "as") name = code_.word(begins, code_.end_of_word(begins));
    named_buffer_ = begins;
  }
  if (name.empty()) return;
  buffers_.insert(name);
  events_[name].emplace(begin, Event::begins);
  if (close != open + 2) note_write(name, open);
}

PythonWriters::Written PythonWriters::written_at(std::size_t open, bool is_part) const {
  for (int i = 0; i < kMostBrackets && open != PythonCode::kNone; ++i) {
    const bool is_list = code_.text()[open] == '[';
    if (!is_list && !code_.keeps_text(open)) break;
    is_part = is_part || is_list;
    open = code_.bracket_of(open);
  }
  const auto writer = writer_at_.find(open);
  if (writer == writer_at_.end()) return {};
  Written written{buffers_.contains(writer->second) ? writer->second : "", std::nullopt};
  const auto& events = events_.find(writer->second)->second;
  const auto own = events.find(open);
  const auto next = std::next(own);
  if (is_part || code_.callee_of(open).ends_with(".writelines")) {
    written.other_part = open;
  } else if (next != events.end() && next->second == Event::write) {
    written.other_part = next->first;
  } else if (own != events.begin() && std::prev(own)->second == Event::write) {
    written.other_part = std::prev(own)->first;
  }
  return written;
}

}  // namespace kc
