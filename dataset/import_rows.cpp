#include "dataset/import_rows.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "dataset/compiled_text.h"
#include "dataset/ordered_lines.h"

namespace kc {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr double kNanosecondsPerMillisecond = 1e6;

struct Source {
  std::string text;
  std::string hash;
};

struct TunedTask {
  std::array<std::string, 3> block_names;
  std::string compiler_flags;
};

// Files of the folder whose name begins so and ends in .jsonl or .jsonl.gz, sorted.
std::vector<fs::path> files_with(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && (name.ends_with(".jsonl") || name.ends_with(".jsonl.gz"))) {
      files.push_back(entry.path());
    }
  }
  if (files.empty()) {
    throw Error(ErrorKind::bad_data,
                fmt::format("{} holds no {}*.jsonl or {}*.jsonl.gz; give the folder of a timings bundle",
                            folder.string(), prefix, prefix));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string value_text(const ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::array<std::int64_t, 3> dimensions(const ordered_json& list) {
  std::array<std::int64_t, 3> result = {1, 1, 1};
  if (list.size() > result.size()) throw Error(ErrorKind::bad_data, "a grid or block of more than three dimensions");
  for (std::size_t i = 0; i < list.size(); ++i) result[i] = list[i].get<std::int64_t>();
  return result;
}

std::string language_of(const std::string& lang) { return lang == "python+cuda" ? "python" : lang; }

class BundleImporter {
 public:
  BundleImporter(const fs::path& folder, ImportReport& report) : report_(report) {
    for (const fs::path& file : files_with(folder, "kernels_")) read_kernels(file);
    read_tasks(folder / "tasks.json");
    for (const fs::path& file : files_with(folder, "rows_")) {
      for_each_ordered_line(file, [this](const ordered_json& row) { read_row(row); });
    }
    report_.measurements += static_cast<std::int64_t>(store_.measurements.size());
    report_.ratios += static_cast<std::int64_t>(store_.ratios.size());
  }

  Store take() { return std::move(store_); }

 private:
  void read_kernels(const fs::path& file) {
    for_each_ordered_line(file, [this](const ordered_json& row) {
      std::string text = row.at("source");
      std::string hash = sha256_hex(text);
      sources_[row.at("kernel_file")] = {std::move(text), std::move(hash)};
    });
  }

  void read_tasks(const fs::path& file) {
    const nlohmann::json tasks = read_json_file(file);
    try {
      for (const auto& [name, task] : tasks.items()) {
        TunedTask& entry = tasks_[name];
        const auto& names = task.at("block_names");
        for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 3); ++i) {
          if (names[i].is_string()) entry.block_names[i] = names[i];
        }
        for (const auto& option : task.at("compiler_options")) {
          if (!entry.compiler_flags.empty()) entry.compiler_flags += ' ';
          entry.compiler_flags += option.get<std::string>();
        }
      }
    } catch (const nlohmann::json::exception& error) {
      throw Error(ErrorKind::bad_data, file.string() + ": not a table of tasks: " + error.what());
    }
  }

  void read_row(const ordered_json& row) {
    ++report_.rows;
    const MeasurementStatus status = measurement_status_of(row.at("status").get<std::string>());
    const bool has_runtime = !row.at("runtime_ms").is_null();
    if (status == MeasurementStatus::ok && !has_runtime) {
      add_ratios(row);
    } else {
      add_measurement(row, status, has_runtime);
    }
  }

  void add_ratios(const ordered_json& row) {
    if (!row.contains("speedup")) throw Error(ErrorKind::bad_data, "an ok row has neither runtime_ms nor speedup");
    RatioRow ratio;
    ratio.task = row.at("task");
    ratio.device = row.at("device");
    ratio.kernel = kernel_of(row);
    if (row.contains("ref_file")) ratio.reference = whole_kernel(row.at("ref_file"), ratio.kernel.language);
    ratio.n = row.at("repeats").is_null() ? 0 : row.at("repeats").get<std::int64_t>();
    ratio.source = row.at("source");
    for (const auto& [baseline, value] : row.at("speedup").items()) {
      ratio.baseline = baseline;
      ratio.value = value;
      store_.ratios.push_back(ratio);
    }
  }

  void add_measurement(const ordered_json& row, MeasurementStatus status, bool has_runtime) {
    Measurement m;
    m.task = row.at("task");
    m.kernel = kernel_of(row);
    m.kernel_name = row.at("kernel_file");
    for (const auto& [name, value] : m.kernel.parameters) m.kernel_name += fmt::format(" {}={}", name, value);
    m.status = status;
    if (has_runtime) m.cases.push_back(timing_of(row));
    Provenance& p = m.provenance;
    p.run_id = row.at("source");
    p.device = row.at("device");
    p.harness_version = row.value("tool", "");
    p.source = p.run_id;
    if (row.value("sel", "") == "top1pct") p.source += "#top1pct";
    if (const auto task = tasks_.find(m.task); task != tasks_.end()) p.compiler_flags = task->second.compiler_flags;
    store_.measurements.push_back(std::move(m));
  }

  static CaseTiming timing_of(const ordered_json& row) {
    CaseTiming timing;
    timing.name = "recorded";
    timing.work = row.value("work", 1.0);
    const auto add = [&timing](double ms) {
      timing.candidate_ns.push_back(static_cast<float>(ms * kNanosecondsPerMillisecond));
    };
    const ordered_json& runtime = row.at("runtime_ms");
    if (runtime.is_array()) {
      for (const auto& ms : runtime) add(ms.get<double>());
    } else {
      add(runtime.get<double>());
    }
    return timing;
  }

  const Source& source_of(const std::string& file) const {
    const auto it = sources_.find(file);
    if (it == sources_.end()) {
      throw Error(ErrorKind::bad_data, fmt::format("the kernel '{}' stands in no kernels_*.jsonl file", file));
    }
    return it->second;
  }

  KernelText whole_kernel(const std::string& file, const std::string& language) const {
    const Source& source = source_of(file);
    return {language, source.hash, source.text, {}};
  }

  KernelText kernel_of(const ordered_json& row) const {
    const std::string file = row.at("kernel_file");
    const std::string language = language_of(row.at("lang"));
    const ordered_json& params = row.at("params");
    if (params.empty()) return whole_kernel(file, language);
    const Source& source = source_of(file);
    TunedConfiguration c;
    c.tool = tuning_tool_of(row.at("tool"));
    c.language = language;
    c.template_id = source.hash;
    c.source = source.text;
    for (const auto& [name, value] : params.items()) c.parameters.emplace_back(name, value_text(value));
    c.grid = dimensions(row.at("grid"));
    c.block = dimensions(row.at("block"));
    const std::string task = row.at("task");
    const auto it = tasks_.find(task);
    if (it == tasks_.end()) throw Error(ErrorKind::bad_data, fmt::format("tasks.json does not know task '{}'", task));
    c.block_names = it->second.block_names;
    return compiled_kernel(c);
  }

  ImportReport& report_;
  std::unordered_map<std::string, Source> sources_;
  std::unordered_map<std::string, TunedTask> tasks_;
  Store store_;
};

}  // namespace

Store import_timing_rows(const fs::path& folder, ImportReport& report) { return BundleImporter(folder, report).take(); }

}  // namespace kc
