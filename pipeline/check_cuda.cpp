#include "pipeline/check_cuda.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/progress.h"
#include "base/table.h"

namespace kc {
namespace {

double fact(const CudaVariant& variant, const char* name) {
  const auto found = variant.facts.find(name);
  return found == variant.facts.end() ? 0 : found->second;
}

// "34 / 0 / 4096": registers and spilled bytes of a thread, shared memory of a block.
std::string resources_text(const CudaVariant& variant) {
  if (!variant.compiles) return "compile_error";
  if (variant.facts.empty()) return "library";
  if (variant.facts.contains("host_code")) return "host code";
  return fmt::format("{} / {} / {}", fact(variant, "registers"), fact(variant, "spill_bytes"),
                     fact(variant, "static_shared_bytes") + fact(variant, "dynamic_shared_bytes"));
}

std::string variants_table(const std::vector<CudaVariant>& variants) {
  std::vector<std::string> architectures, names;
  std::map<std::string, std::vector<std::string>> cells;
  for (const CudaVariant& variant : variants) {
    if (std::find(architectures.begin(), architectures.end(), variant.arch) == architectures.end()) {
      architectures.push_back(variant.arch);
    }
    std::vector<std::string>& row = cells[variant.candidate];
    if (row.empty()) names.push_back(variant.candidate);
    row.push_back(resources_text(variant));
  }
  std::vector<std::string> header = {"registers / spilled bytes / shared bytes"};
  header.insert(header.end(), architectures.begin(), architectures.end());
  Table table(header);
  for (const std::string& name : names) {
    std::vector<std::string> row = {name};
    row.insert(row.end(), cells[name].begin(), cells[name].begin() + static_cast<std::ptrdiff_t>(architectures.size()));
    table.add_row(row);
  }
  return table.render();
}

}  // namespace

CudaCheck check_cuda_task(const TaskPack& pack, const CudaOptions& options, const std::stop_token& stop) {
  CudaCheck check;
  check.task = pack.name;
  const std::vector<SmLimits>& architectures = admission_limits();
  Progress progress("checking " + pack.name, static_cast<std::int64_t>(architectures.size()) + 2, "steps");
  if (const std::optional<TaskPack> own = pack_for_admission(pack, "cuda")) admit_task(*own, options.host, stop);
  progress.advance(1, "admitted on the CPU");
  const TaskPack device_pack = pack_for_device(pack, "cuda");
  CudaCompiler compiler(options.compile, options.host);
  for (const SmLimits& limits : architectures) {
    std::vector<CudaVariant> variants = compile_variants(compiler, device_pack, limits, stop);
    std::move(variants.begin(), variants.end(), std::back_inserter(check.variants));
    progress.advance(1, "compiled for " + limits.arch());
  }
  check.findings = find_faults(check.variants);
  check.emulated = check_emulated(pack, options.host, kEmulatedPerSource, stop);
  progress.advance(1, "run on the CPU");
  progress.finish();
  check.findings.insert(check.findings.end(), check.emulated.findings.begin(), check.emulated.findings.end());
  return check;
}

std::string findings_text(const std::vector<TaskFinding>& findings) {
  std::string text;
  for (const TaskFinding& finding : findings) {
    text += fmt::format("  {}: expected {}, found {}{}{}\n", finding.candidate, finding.expected, finding.got,
                        finding.log.empty() ? "" : ": ", finding.log);
  }
  return text;
}

std::string check_text(const CudaCheck& check) {
  std::string text = variants_table(check.variants);
  for (const std::string& name : check.emulated.left_out) text += fmt::format("  not run on the CPU: {}\n", name);
  const std::size_t architectures = admission_limits().size();
  text += fmt::format("{}: {}, {} variants compiled for {} architectures, {} of them run on the CPU\n", check.task,
                      check.findings.empty() ? "sound" : "NOT sound", check.variants.size() / architectures,
                      architectures, check.emulated.candidates);
  return text + findings_text(check.findings);
}

std::string not_shown_text() {
  return fmt::format(
      "Without a GPU this cannot show: {}.\nThose need `ctest -L gpu` and `measure label --device "
      "cuda` on a machine that has one.\n",
      fmt::join(kNotShownWithoutGpu, "; "));
}

nlohmann::json to_json(const std::vector<TaskFinding>& findings) {
  nlohmann::json list = nlohmann::json::array();
  for (const TaskFinding& f : findings) {
    list.push_back({{"candidate", f.candidate}, {"expected", f.expected}, {"found", f.got}, {"log", f.log}});
  }
  return list;
}

nlohmann::json to_json(const CudaCheck& check) {
  nlohmann::json variants = nlohmann::json::array();
  for (const CudaVariant& v : check.variants) {
    variants.push_back({{"candidate", v.candidate},
                        {"arch", v.arch},
                        {"expected", v.expect},
                        {"compiles", v.compiles},
                        {"log", v.log},
                        {"facts", v.facts}});
  }
  return {{"variants", variants},
          {"emulated", check.emulated.candidates},
          {"left_out", check.emulated.left_out},
          {"findings", to_json(check.findings)}};
}

}  // namespace kc
