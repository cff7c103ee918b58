#include <cctype>

#include "cuda/extract.h"

namespace kc {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view source) : source_(source) {}

  std::vector<PythonText> scan() {
    bool neighbour = false;  // only white space since the last literal
    while (at_ < source_.size()) {
      const char c = source_[at_];
      if (c == '#') {
        while (at_ < source_.size() && source_[at_] != '\n') ++at_;
      } else if (c == '"' || c == '\'') {
        read_literal(neighbour);
        neighbour = true;
      } else {
        if (std::isspace(static_cast<unsigned char>(c)) == 0 && !starts_prefixed()) neighbour = false;
        line_ += c == '\n' ? 1 : 0;
        ++at_;
      }
    }
    return std::move(texts_);
  }

 private:
  // A letter that belongs to the quote behind it: r, f, b, u and pairs of them.
  bool starts_prefixed() const {
    std::size_t end = at_;
    while (end < source_.size() && end < at_ + 2 && std::isalpha(static_cast<unsigned char>(source_[end])) != 0) ++end;
    return end > at_ && end < source_.size() && (source_[end] == '"' || source_[end] == '\'');
  }

  void read_literal(bool joins) {
    bool raw = false;
    bool format = false;
    std::size_t begin = at_;
    for (std::size_t back = 1; back <= 2 && back <= at_; ++back) {
      const char p = static_cast<char>(std::tolower(static_cast<unsigned char>(source_[at_ - back])));
      if (p != 'r' && p != 'f' && p != 'b' && p != 'u') break;
      raw = raw || p == 'r';
      format = format || p == 'f';
      begin = at_ - back;
    }
    const char quote = source_[at_];
    const bool triple = source_.substr(at_).starts_with(std::string(3, quote));
    const std::string end(triple ? 3 : 1, quote);
    PythonText text{"", format, line_, begin, 0};
    at_ += end.size();
    while (at_ < source_.size() && !source_.substr(at_).starts_with(end)) {
      if (source_[at_] == '\n' && !triple) break;  // not closed: Python would refuse it
      line_ += source_[at_] == '\n' ? 1 : 0;
      if (source_[at_] == '\\' && at_ + 1 < source_.size()) {
        append_escape(text.text, raw);
      } else {
        text.text += source_[at_++];
      }
    }
    at_ += std::min(end.size(), source_.size() - at_);
    text.end = at_;
    if (joins && !texts_.empty()) {
      texts_.back().end = at_;
      texts_.back().text += text.text;
      texts_.back().is_format = texts_.back().is_format || format;
    } else {
      texts_.push_back(std::move(text));
    }
  }

  void append_escape(std::string& text, bool raw) {
    const char c = source_[at_ + 1];
    line_ += c == '\n' ? 1 : 0;
    at_ += 2;
    if (raw) {
      text += {'\\', c};
    } else if (c == 'n') {
      text += '\n';
    } else if (c == 't') {
      text += '\t';
    } else if (c == '\\' || c == '\'' || c == '"') {
      text += c;
    } else if (c != '\n') {
      text += {'\\', c};
    }
  }

  std::string_view source_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<PythonText> texts_;
};

}  // namespace

std::vector<PythonText> python_texts(std::string_view source) { return Scanner(source).scan(); }

}  // namespace kc
