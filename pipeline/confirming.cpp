#include "pipeline/confirming.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/progress.h"
#include "base/table.h"
#include "dataset/label_store.h"
#include "measure/task_revision.h"
#include "measure/winners.h"

namespace kc {
namespace {

struct StoredLabels {
  std::vector<MeasureRequest> requests;
  std::vector<Measurement> labels;
};

StoredLabels labels_of(const TaskPack& task, const Provenance& own, const std::vector<Measurement>& stored) {
  StoredLabels found;
  const double revision = task_revision(task);
  for (const Measurement& label : stored) {
    if (label.task != task.name || label.is_seed || !find_speedup(label)) continue;
    if (task_revision(label).value_or(revision) != revision) continue;
    if (label.provenance.device != own.device || label.provenance.harness_version != own.harness_version) continue;
    found.requests.push_back({&task, {label.kernel_name, label.kernel, false, ""}});
    found.labels.push_back(label);
  }
  return found;
}

bool is_same_timing(const CaseTiming& a, const CaseTiming& b) {
  return a.candidate_ns == b.candidate_ns && a.reference_ns == b.reference_ns;
}

// Every round of every case alike, in one run of one kernel.
bool is_the_same(const Measurement& a, const Measurement& b) {
  return !a.cases.empty() && a.task == b.task && a.provenance.run_id == b.provenance.run_id &&
         kernel_id(a.kernel) == kernel_id(b.kernel) && std::ranges::equal(a.cases, b.cases, is_same_timing);
}

ConfirmedKernel confirmed(const ConfirmedWinner& winner, const Measurement& first,
                          const std::vector<Measurement>& stored) {
  if (std::ranges::any_of(stored, [&](const Measurement& label) { return is_the_same(winner.label, label); })) {
    throw Error(ErrorKind::usage, fmt::format("task {}: the device answers with a stored label of {} once more, so it "
                                              "plays a recording, which confirms nothing",
                                              first.task, first.kernel_name));
  }
  ConfirmedKernel kernel{first.task, first.kernel_name, log2_speedup(first), "", {}, winner.is_lucky};
  kernel.status = name_of(winner.label.status);
  if (const auto again = find_speedup(winner.label)) kernel.again = *again;
  return kernel;
}

}  // namespace

std::vector<ConfirmedKernel> confirm_fastest(const std::vector<TaskPack>& tasks, Measurer& measurer,
                                             const std::filesystem::path& store, std::size_t count,
                                             const std::stop_token& stop) {
  const std::vector<Measurement> stored = read_store(store).measurements;
  std::vector<ConfirmedKernel> kernels;
  Progress progress("confirming", static_cast<std::int64_t>(tasks.size()), "tasks");
  for (const TaskPack& task : tasks) {
    const StoredLabels own = labels_of(task, measurer.provenance(task), stored);
    for (const ConfirmedWinner& winner : confirm_winners(measurer, own.requests, own.labels, count, stop)) {
      kernels.push_back(confirmed(winner, own.labels[winner.index], stored));
    }
    progress.advance(1, "");
  }
  progress.finish();
  return kernels;
}

std::string confirmed_table(const std::vector<ConfirmedKernel>& kernels) {
  Table table({"task", "kernel", "speedup when chosen", "measured again", ""});
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const ConfirmedKernel& kernel = kernels[i];
    if (i > 0 && kernels[i - 1].task != kernel.task) table.add_rule();
    const bool ok = kernel.status == "ok";
    table.add_row({kernel.task, kernel.name, ratio_text(kernel.first), ok ? ratio_text(kernel.again) : kernel.status,
                   kernel.is_lucky ? "was lucky" : ""});
  }
  return table.render();
}

nlohmann::json to_json(const std::vector<ConfirmedKernel>& kernels) {
  nlohmann::json json = nlohmann::json::object();
  for (const ConfirmedKernel& kernel : kernels) {
    nlohmann::json entry = {{"kernel", kernel.name}, {"status", kernel.status}, {"was_lucky", kernel.is_lucky}};
    put_ratio(entry["first"], "speedup", kernel.first);
    if (kernel.status == "ok") put_ratio(entry["again"], "speedup", kernel.again);
    json[kernel.task].push_back(std::move(entry));
  }
  return json;
}

}  // namespace kc
