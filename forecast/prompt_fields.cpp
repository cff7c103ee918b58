#include "forecast/prompt_fields.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "forecast/bins.h"
#include "forecast/line_diff.h"
#include "forecast/parser.h"
#include "forecast/source_text.h"

namespace kc {

namespace {

constexpr std::array<std::string_view, 13> kFields = {"task",
                                                      "reference",
                                                      "candidate",
                                                      "hardware_table",
                                                      "bin_table",
                                                      "tool",
                                                      "device_kind",
                                                      "multiprocessors",
                                                      "max_threads",
                                                      "clock_mhz",
                                                      "memory_clock_mhz",
                                                      "memory_bus_bits",
                                                      "global_memory_gb"};

std::string single_line(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return c < 0x20; }, ' ');
  return text;
}

std::string joined(const std::vector<std::string>& lines) { return fmt::format("{}", fmt::join(lines, "\n")); }

// Longer than any run of backticks inside, so that no source closes its own fence.
std::string fenced(const KernelText& kernel) {
  const std::string source = instantiated_source(kernel);
  std::size_t longest = 2, run = 0;
  for (const char c : source) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const bool ends_line = !source.empty() && source.back() == '\n';
  return fence + single_line(kernel.language) + "\n" + source + (ends_line ? "" : "\n") + fence;
}

std::vector<std::string> tunable_lines(const KernelText& kernel) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : kernel.parameters) lines.push_back(single_line(name) + " " + single_line(value));
  return lines;
}

// Cuts before a UTF-8 continuation byte never happen: the cut moves back to the start of the character.
std::string cut_line(const std::string& line) {
  if (line.size() <= kDiffLineBytes) return line;
  std::size_t end = kDiffLineBytes;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xC0U) == 0x80U) --end;
  return line.substr(0, end) + "...";
}

std::string diff_block(const KernelText& kernel, const std::vector<std::string>& differing) {
  std::vector<std::string> lines = tunable_lines(kernel);
  const std::size_t shown = std::min(differing.size(), kDiffBlockLines);
  std::transform(differing.begin(), differing.begin() + shown, std::back_inserter(lines), cut_line);
  if (shown < differing.size()) lines.push_back("...");
  return lines.empty() ? "none" : joined(lines);
}

std::pair<std::string, std::string> diff_blocks(const KernelText& a, const KernelText& b) {
  if (a.template_id == b.template_id) return {diff_block(a, {}), diff_block(b, {})};
  const LineDifference d = line_difference(code_lines(a.source, a.language), code_lines(b.source, b.language));
  return {diff_block(a, d.only_in_a), diff_block(b, d.only_in_b)};
}

std::string hardware_table(const Hardware& hardware) {
  std::string table = "| property | value |\n|---|---|";
  for (const auto& [label, value] : hardware.rows()) table += fmt::format("\n| {} | {} |", label, single_line(value));
  return table;
}

// Four decimals, without trailing zeros.
std::string edge_text(double edge) {
  std::string text = fmt::format("{:.4f}", edge);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string bin_table() {
  const auto& edges = bin_upper_edges();
  std::string table = "| bin | name | S |\n|---|---|---|";
  for (Bin b = 1; b <= kBins; ++b) {
    const std::string low = b == 1 ? "0" : edge_text(edges[b - 2]);
    const std::string range =
        b == kBins ? fmt::format("above {}", low) : fmt::format("above {}, up to {}", low, edge_text(edges[b - 1]));
    table += fmt::format("\n| {} | {} | {} |", b, bin_name(b), range);
  }
  return table;
}

std::string mega(double giga) { return fmt::format("{}", std::llround(giga * 1000)); }

std::string hardware_field(const Hardware& h, std::string_view name) {
  if (name == "device_kind") return h.is_cpu ? "cpu" : "gpu";
  if (name == "multiprocessors") return fmt::format("{}", h.multiprocessors);
  if (name == "max_threads") return fmt::format("{}", h.max_threads_per_multiprocessor);
  if (name == "clock_mhz") return mega(h.clock_ghz);
  if (name == "memory_clock_mhz") return mega(h.memory_clock_ghz);
  if (name == "memory_bus_bits") return fmt::format("{}", h.memory_bus_bits);
  return fmt::format("{}", std::llround(h.global_memory_gb));
}

}  // namespace

bool is_prompt_field(std::string_view name) { return std::find(kFields.begin(), kFields.end(), name) != kFields.end(); }

PromptFields::PromptFields(const PromptRequest& request, PromptStyle style) : request_(request) {
  if (style == PromptStyle::full) {
    reference_ = fenced(request.reference);
    candidate_ = fenced(request.candidate);
  } else {
    std::tie(reference_, candidate_) = diff_blocks(request.reference, request.candidate);
  }
}

std::string PromptFields::text(std::string_view name) const {
  if (name == "task") return single_line(request_.task);
  if (name == "reference") return reference_;
  if (name == "candidate") return candidate_;
  if (name == "hardware_table") return hardware_table(request_.hardware);
  if (name == "bin_table") return bin_table();
  if (name == "tool") return std::string(kToolName);
  return hardware_field(request_.hardware, name);
}

}  // namespace kc
