#pragma once
#include <string>
#include <vector>

namespace kc {

// A table for the terminal: columns as wide as their widest cell (UTF-8 aware), numbers right-aligned, a rule under the
// header. Cells are shown as printable.h says.
class Table {
 public:
  explicit Table(std::vector<std::string> header);
  void add_row(std::vector<std::string> cells);  // as many cells as the header has; Error{internal} otherwise
  void add_rule();
  std::string render() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;  // an empty row stands for a rule
};

// A horizontal bar of `width` cells filled to `fraction` in [0, 1], in eighths of a cell.
std::string bar(double fraction, int width);

}  // namespace kc
