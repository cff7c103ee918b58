#include "pipeline/dataset_views.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/table.h"
#include "pipeline/resources.h"

namespace kc {

void ignore_other_sections(Config& config, const std::vector<std::string>& used) {
  for (const char* section : {"run", "data", "prompt", "tokenizer", "model", "warmup", "policy", "reward", "evaluate",
                              "measure", "cuda", "search"}) {
    if (std::find(used.begin(), used.end(), section) == used.end()) config.ignore_section(section);
  }
}

DataOptions read_data_options(Config& config) {
  ConfigSection s = config.section("data");
  DataOptions o;
  o.path = s.text("path", "dataset/recordings/host.h5", {.meaning = "measurements (HDF5, docs/data-format.md)"});
  o.binning = s.choice("binning", "edges", {"edges", "published"}, {.meaning = "rule from speedup to bin"}) == "edges"
                  ? Binning::edges
                  : Binning::published;
  o.split = read_split_options(config);
  return o;
}

std::string import_text(const ImportReport& report, const std::string& out) {
  std::string text = fmt::format("{} rows: {} measurements and {} ratios in {}\n", report.rows, report.measurements,
                                 report.ratios, out);
  if (report.bins_stored > 0) {
    text +=
        fmt::format("{} stored bins: {} disagree with the bin of the speedup by edges, {} by the published formula\n",
                    report.bins_stored, report.bins_disagreeing, report.bins_disagreeing_published);
  }
  return text;
}

nlohmann::json to_json(const ImportReport& report) {
  return {{"rows", report.rows},
          {"measurements", report.measurements},
          {"ratios", report.ratios},
          {"bins_stored", report.bins_stored},
          {"bins_disagreeing", report.bins_disagreeing},
          {"bins_disagreeing_published", report.bins_disagreeing_published}};
}

namespace {

std::string status_table(const StoreSummary& summary) {
  std::vector<std::string> header{"task", "device"};
  for (int s = 0; s < kMeasurementStatuses; ++s) header.emplace_back(name_of(static_cast<MeasurementStatus>(s)));
  header.emplace_back("noise cv %");
  Table table(header);
  for (const GroupSummary& group : summary.groups) {
    std::vector<std::string> row{group.task, group.device};
    for (const std::int64_t count : group.by_status) row.push_back(std::to_string(count));
    row.push_back(fmt::format("{:.2f}", 100 * group.noise_cv));
    table.add_row(row);
  }
  return table.render();
}

std::string bin_table(const StoreSummary& summary) {
  std::vector<std::string> header{"ordered pairs of task", "device"};
  for (Bin bin = 1; bin <= kBins; ++bin) header.push_back("bin " + std::to_string(bin));
  Table table(header);
  for (const GroupSummary& group : summary.groups) {
    std::vector<std::string> row{group.task, group.device};
    for (const std::int64_t count : group.pairs_by_bin) row.push_back(std::to_string(count));
    table.add_row(row);
  }
  return table.render();
}

}  // namespace

std::string summary_text(const StoreSummary& summary) {
  std::string text = fmt::format("{} measurements of {} kernels, {} ratios, content {}\n\n", summary.measurements,
                                 summary.kernels, summary.ratios, summary.content_hash.substr(0, 12));
  text += status_table(summary) + "\n" + bin_table(summary) + "\n";
  for (const auto& [baseline, count] : summary.ratios_by_baseline)
    text += fmt::format("ratios against {}: {}\n", baseline, count);
  for (const RunSummary& run : summary.runs) {
    const Provenance& p = run.provenance;
    text += fmt::format("run {}: {} rows, {}, {} {}, harness {}, {}, noise floor {:.4f} (median |log2| of A/A pairs)\n",
                        p.run_id, run.rows, p.processor, p.compiler, p.compiler_flags, p.harness_version, p.started_at,
                        p.noise_floor);
  }
  for (const StaleRows& stale : summary.stale) {
    text += fmt::format(
        "stale: {} rows of {} on {} were made by {} {} with harness {}; measure again with `measure label --again`\n",
        stale.rows, stale.task, stale.device, stale.compiler, stale.compiler_flags, stale.harness_version);
  }
  return text;
}

std::string comparison_text(const LabellingComparison& c) {
  const auto share = [](std::int64_t part, std::size_t whole) {
    return whole == 0 ? std::string("-")
                      : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  };
  std::string text = fmt::format("{} kernels are ok in both, {} in one of them; {} are in one store only\n",
                                 c.labels.size(), c.status_changed, c.in_one_only);
  if (c.other_revision > 0) {
    text += fmt::format("{} kernels are not compared: their task had another seed, other cases, inputs or tolerance\n",
                        c.other_revision);
  }
  if (c.labels.empty()) {
    return text +
           "nothing to compare: labels of one task, kernel and device are compared; --across-devices leaves out "
           "the device\n";
  }
  text += fmt::format("same bin: {} ({})\n", c.same_bin, share(c.same_bin, c.labels.size()));
  text += fmt::format("neither 95 % interval straddles an edge: {}; of these same bin: {} ({})\n", c.clear,
                      c.clear_same_bin, share(c.clear_same_bin, static_cast<std::size_t>(c.clear)));
  text += fmt::format("intervals overlap: {} ({})\n", c.overlapping, share(c.overlapping, c.labels.size()));
  text += fmt::format("|log2 difference|: median {:.4f}, 95 % {:.4f}\n", c.median_abs_log2_difference,
                      c.p95_abs_log2_difference);
  for (const LabelComparison& l : c.labels) {
    if (l.same_bin) continue;
    text += fmt::format("changed: {} {}: {:.3f} [{:.3f}, {:.3f}] -> {:.3f} [{:.3f}, {:.3f}]{}\n", l.task, l.kernel_name,
                        std::exp2(l.log2_a), std::exp2(l.low_a), std::exp2(l.high_a), std::exp2(l.log2_b),
                        std::exp2(l.low_b), std::exp2(l.high_b),
                        l.straddles_edge ? " (an interval straddles an edge)" : "");
  }
  return text;
}

namespace {

nlohmann::json to_json(const Store& store, const PairRow& row, const Prompt& prompt) {
  return {{"comparison_id", comparison_id(store, row)},
          {"task", store.measurements[row.reference].task},
          {"hardware", store.measurements[row.reference].provenance.device},
          {"pair_type", name_of(row.kind)},
          {"aggregated_speedup", std::exp2(row.log2_speedup)},
          {"true_bin", row.bin},
          {"system", prompt.system},
          {"user", prompt.user}};
}

// Why nothing was drawn: pairs are balanced over the bins, so few may ask for empty ones.
Error no_pairs(const std::string& file, std::int64_t count, const std::array<std::int64_t, kBins>& available) {
  const std::int64_t pairs = std::accumulate(available.begin(), available.end(), std::int64_t{0});
  if (pairs > 0) {
    return Error(ErrorKind::bad_data,
                 fmt::format("{}: none of the {} pairs of its training part lies in a bin that --count {} asks for; "
                             "--count {} asks for every bin",
                             file, pairs, count, kBins));
  }
  return Error(ErrorKind::bad_data,
               fmt::format("{}: its training part holds no two kernels of a task that ran; `dataset split --set "
                           "data.path={}` shows the parts, and `--set data.split.test_fraction=0 --set "
                           "data.split.validation_fraction=0` leaves nothing out",
                           file, file));
}

}  // namespace

int show_pairs(const std::string& file, const CommonOptions& common, const PairView& view) {
  Config config = load_config(common);
  DataOptions data = read_data_options(config);
  ConfigSection s = config.section("prompt");
  const std::string template_file = s.text("template", "configs/prompts/default.txt", {.meaning = "prompt template"});
  const PromptStyle style =
      prompt_style_of(s.choice("style", "diff", {"full", "diff"}, {.meaning = "both sources, or what differs"}));
  const WireFormat wire =
      wire_format_of(s.choice("wire", "compact", {"direct", "compact", "tool"}, {.meaning = "wire format"}));
  const std::string hardware_file = s.text("hardware", "configs/hardware.yaml", {.meaning = "table of device facts"});
  ignore_other_sections(config, {"data"});
  if (show_config(common, config)) return 0;
  if (!view.task.empty()) data.split.tasks = {view.task};
  data.split.held_out_tasks.clear();
  data.split.held_out_devices.clear();

  const Store store = read_store(file);
  const auto hardware = HardwareTable::load(find_resource(hardware_file));
  const auto prompts = PromptTemplate::load(find_resource(template_file));
  const PairSampler sampler(store, assign_parts(store, data.split), Part::train);
  const PairDraw draw = sampler.draw_balanced({.count = view.count, .binning = data.binning}, RngStream(view.seed));
  if (draw.rows.empty() && view.count > 0) throw no_pairs(file, view.count, sampler.available(data.binning));
  for (const PairRow& row : draw.rows) {
    const Prompt prompt = prompts.render(prompt_request(store, row, hardware), style, wire);
    if (common.json) {
      std::cout << to_json(store, row, prompt).dump() << "\n";
    } else {
      std::cout << fmt::format("---- {}: speedup {:.3f}, bin {} {}\n{}{}\n", name_of(row.kind),
                               std::exp2(row.log2_speedup), row.bin, bin_name(row.bin),
                               prompt.system.empty() ? "" : prompt.system + "\n", prompt.user);
    }
  }
  return 0;
}

int show_split(const CommonOptions& common) {
  Config config = load_config(common);
  const DataOptions data = read_data_options(config);
  ignore_other_sections(config, {"data"});
  if (show_config(common, config)) return 0;
  const Store store = read_store(find_resource(data.path));
  const std::vector<Part> parts = assign_parts(store, data.split);
  Table table({"part", "kernels", "ordered pairs"});
  nlohmann::json json;
  for (const Part part : {Part::train, Part::validation, Part::kernels, Part::task, Part::device}) {
    const PairSampler sampler(store, parts, part);
    std::int64_t pairs = 0;
    for (const std::int64_t count : sampler.available(data.binning)) pairs += count;
    table.add_row({name_of(part), std::to_string(sampler.kernels()), std::to_string(pairs)});
    json["parts"][name_of(part)] = {{"kernels", sampler.kernels()}, {"ordered_pairs", pairs}};
  }
  const std::vector<std::string> leaks = find_leaks(store, parts, !data.split.device_new_kernels);
  json["leaks"] = leaks;
  if (common.json) {
    std::cout << json.dump() << "\n";
  } else {
    std::cout << table.render();
    for (const std::string& leak : leaks) std::cout << "leak: " << leak << "\n";
    std::cout << (leaks.empty() ? "no kernel text stands on two sides\n" : "");
  }
  return leaks.empty() ? 0 : exit_code(ErrorKind::check_failed);
}

int show_comparison(const std::vector<std::string>& files, std::int64_t seed, bool across_devices, bool json) {
  if (files.size() != 2) throw Error(ErrorKind::usage, "give the two files to compare");
  const auto comparison = compare_labellings(read_store(find_resource(files[0])), read_store(find_resource(files[1])),
                                             {400, across_devices}, RngStream(static_cast<std::uint64_t>(seed)));
  std::cout << (json ? to_json(comparison).dump() + "\n" : comparison_text(comparison));
  return 0;
}

}  // namespace kc
