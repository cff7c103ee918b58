#include "trainer/metrics_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/log.h"

namespace kc {
namespace {

constexpr int kColumnWidth = 9;
constexpr std::int64_t kLinesPerHeader = 20;

JsonLinesWriter open_lines(const MetricsLogOptions& options) {
  const std::filesystem::path file = options.run_folder / "metrics.jsonl";
  cut_metrics_after(file, options.keep_through);
  return JsonLinesWriter(file, JsonLinesWriter::Mode::append_repairing);
}

// The step of a log line; none for an unfinished line, or one that we never wrote.
std::int64_t step_of(const std::string& line, std::int64_t none) {
  if (nested_too_deep(line)) return none;
  const nlohmann::json record = nlohmann::json::parse(line, nullptr, false);
  if (!record.is_object()) return none;
  const auto step = record.find("step");
  return step != record.end() && step->is_number_integer() ? step->get<std::int64_t>() : none;
}

}  // namespace

void cut_metrics_after(const std::filesystem::path& file, std::int64_t step) {
  if (!std::filesystem::exists(file)) return;
  const std::string bytes = read_file(file);
  std::string kept;
  for (std::size_t begin = 0; begin < bytes.size();) {
    const std::size_t end = bytes.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string line = bytes.substr(begin, end + 1 - begin);
    if (step_of(line, step + 1) <= step) kept += line;
    begin = end + 1;
  }
  if (kept.size() != bytes.size()) write_file_atomically(file, kept);
}

MetricsLog::MetricsLog(MetricsLogOptions options)
    : options_(std::move(options)),
      lines_(open_lines(options_)),
      events_(options_.run_folder / "tb", options_.keep_through > 0 ? options_.keep_through + 1 : 0) {}

void MetricsLog::write(std::int64_t step, const Metrics& metrics) {
  nlohmann::json line{{"step", step}, {"stage", options_.stage}};
  for (const auto& [name, value] : metrics) line[name] = value;
  lines_.write(line);
  Metrics scalars;
  for (const auto& [name, value] : metrics) scalars[options_.stage + "/" + name] = value;
  events_.write(step, scalars);
  if (options_.lines_every > 0 && (step % options_.lines_every == 0 || printed_ == 0)) print_line(step, metrics);
}

void MetricsLog::print_line(std::int64_t step, const Metrics& metrics) {
  if (printed_ % kLinesPerHeader == 0) {
    std::string header = fmt::format("{:<7} {:>6}", options_.stage, "step");
    for (const ConsoleColumn& column : options_.columns) {
      header += fmt::format(" {:>{}}", column.title, kColumnWidth);
    }
    log::info(header);
  }
  std::string line = fmt::format("{:<7} {:>6}", "", step);
  for (const ConsoleColumn& column : options_.columns) {
    const auto found = metrics.find(column.metric);
    line += found == metrics.end() ? fmt::format(" {:>{}}", "-", kColumnWidth)
                                   : fmt::format(" {:>{}.{}f}", found->second, kColumnWidth, column.decimals);
  }
  log::info(line);
  ++printed_;
}

}  // namespace kc
