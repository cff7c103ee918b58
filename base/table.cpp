#include "base/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/error.h"
#include "base/printable.h"

namespace kc {
namespace {

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

bool is_blank(std::string_view cell) { return cell.empty() || cell == "-" || cell == "nan"; }

// A number with its trimmings: "-3.2", "1,200", "84 %", "0.21 [0.19, 0.23]", "1.5e-3", "2.0x", "±0.1".
bool is_numeric(std::string_view cell) {
  constexpr std::string_view kPlusMinus = "±";
  if (cell.starts_with(kPlusMinus)) cell.remove_prefix(kPlusMinus.size());
  const bool starts_right = !cell.empty() && std::string_view("0123456789+-.([").find(cell.front()) < 15;
  const bool only_number = cell.find_first_not_of("0123456789.,+-eEx%[]() \xC2\xB1") == std::string_view::npos;
  return starts_right && only_number && cell.find_first_of("0123456789") != std::string_view::npos;
}

std::string padded(const std::string& cell, std::size_t width, bool right) {
  const std::string space(width - width_of(cell), ' ');
  return right ? space + cell : cell + space;
}

}  // namespace

Table::Table(std::vector<std::string> header) : header_(std::move(header)) {}

void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() != header_.size()) {
    throw Error(ErrorKind::internal, "Table: a row of " + std::to_string(cells.size()) + " cells for " +
                                         std::to_string(header_.size()) + " columns");
  }
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

void Table::add_rule() { rows_.emplace_back(); }

std::string Table::render() const {
  const std::size_t columns = header_.size();
  std::vector<std::size_t> widths(columns);
  std::vector<bool> right(columns, false);
  for (std::size_t c = 0; c < columns; ++c) {
    widths[c] = width_of(header_[c]);
    bool all_numeric = true;
    for (const auto& row : rows_) {
      if (row.empty()) continue;
      widths[c] = std::max(widths[c], width_of(row[c]));
      if (is_blank(row[c])) continue;
      all_numeric = all_numeric && is_numeric(row[c]);
      right[c] = all_numeric;
    }
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t c = 0; c < columns; ++c) text += (c == 0 ? "" : "  ") + padded(cells[c], widths[c], right[c]);
    return text.erase(text.find_last_not_of(' ') + 1) + "\n";
  };
  std::string rule;
  for (std::size_t c = 0; c < columns; ++c) {
    rule += c == 0 ? "" : "  ";
    for (std::size_t i = 0; i < widths[c]; ++i) rule += "─";
  }
  std::string text = line(header_) + rule + "\n";
  for (const auto& row : rows_) text += row.empty() ? rule + "\n" : line(row);
  return text;
}

std::string bar(double fraction, int width) {
  constexpr std::array<const char*, 8> kPartial = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double clamped = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  const int eighths = static_cast<int>(std::lround(clamped * 8.0 * std::max(width, 0)));
  std::string text;
  for (int i = 0; i < eighths / 8; ++i) text += "█";
  text += kPartial[static_cast<std::size_t>(eighths % 8)];
  const int used = (eighths + 7) / 8;
  return text + std::string(static_cast<std::size_t>(std::max(width - used, 0)), ' ');
}

}  // namespace kc
