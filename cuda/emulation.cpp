#include "cuda/emulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/hash.h"
#include "base/pattern.h"
#include "cuda/contract.h"
#include "cuda/emulation_text.h"

namespace kc {
namespace {

constexpr const char* kRun = "kc_device_run";  // a kernel of this name would hide the host's `run`

// `extern __shared__ float x[];` has no C++ meaning inside a function: the array is the emulation's. Nothing in the
// pattern gives back what it took, apart from the words of a type, which are few: else a line of megabytes would take
// minutes.
std::string with_dynamic_shared(const std::string& source) {
  static const Pattern declaration(R"(\bextern\s++__shared__\s++(\w++(?:\s++\w++){0,9}?)\s++(\w++)\s*+\[\s*+\]\s*+;)");
  return declaration.replaced(source, "$1* const $2 = reinterpret_cast<$1*>(kc_emulation::dynamic_shared);");
}

std::string reason_to_leave_out(const CudaContract& contract) {
  static const Pattern include(R"((?m)^[^\S\n]*+#[^\S\n]*+include\b)");
  static const Pattern assembly(R"(\basm\b)");
  if (!contract.host_source.empty()) return "has host code";
  if (include.find(contract.device_source)) return "includes headers of the toolkit";
  if (assembly.find(contract.device_source)) return "inline PTX";
  return "";
}

std::string arguments_text(const TaskPack& pack, const CudaContract& contract) {
  std::string text = "c";
  for (std::size_t i = 0; i < pack.inputs.size(); ++i) {
    text += fmt::format(", (const {}*)inputs[{}]", cuda_type(pack.inputs[i].dtype), i);
  }
  for (std::size_t o = 0; o < pack.outputs.size(); ++o) {
    text += fmt::format(", ({}*)outputs[{}]", cuda_type(pack.outputs[o].dtype), o);
  }
  for (std::size_t s = 0; s < contract.scratch.size(); ++s) {
    text += fmt::format(", ({}*)scratch[{}]", cuda_type(contract.scratch[s].dtype), s);
  }
  return text;
}

std::string step_text(const TaskPack& pack, const CaseSpec& spec, const RunPlan& plan, const Step& step) {
  if (step.launch) {
    const LaunchShape& l = *step.launch;
    return fmt::format("    launch([&] {{ {}(ARGUMENTS); }}, dim3({}, {}, {}), dim3({}, {}, {}), {});\n",
                       l.kernel == "run" ? kRun : l.kernel, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1],
                       l.block[2], l.shared_bytes);
  }
  const std::size_t outputs = pack.outputs.size();
  if (step.zero < outputs) {
    const TensorSpec& output = pack.outputs[step.zero];
    const auto bytes = static_cast<std::size_t>(elements_of(output, spec)) * size_of(output.dtype);
    return fmt::format("    memset(outputs[{}], 0, {});\n", step.zero, bytes);
  }
  return fmt::format("    memset(scratch[{0}], 0, {1});\n", step.zero - outputs,
                     plan.scratch_bytes[step.zero - outputs]);
}

// One branch of `run`: the steps of one case.
std::string case_text(const TaskPack& pack, const CaseSpec& spec, const RunPlan& plan) {
  std::string text = "  if (true";
  for (const auto& [name, size] : spec.sizes) text += fmt::format(" && c.{} == {}", name, size);
  text += ") {\n";
  for (std::size_t s = 0; s < plan.scratch_bytes.size(); ++s) {
    text += fmt::format("    scratch[{0}] = malloc({1});\n    memset(scratch[{0}], 0xFF, {1});\n", s,
                        plan.scratch_bytes[s]);
  }
  for (const Step& step : plan.steps) text += step_text(pack, spec, plan, step);
  for (std::size_t s = 0; s < plan.scratch_bytes.size(); ++s) text += fmt::format("    free(scratch[{}]);\n", s);
  return text + "    return;\n  }\n";
}

std::string run_text(const TaskPack& pack, const CudaContract& contract, const std::string& cases) {
  return fmt::format(R"(
#line 1 "launches"
template <class F>
static void launch(const F& thread, dim3 grid, dim3 block, size_t shared_bytes) {{
  kc_emulation::launch(grid, block, shared_bytes, [](const void* f) {{ (*static_cast<const F*>(f))(); }}, &thread);
}}
extern "C" void run(const Case* host_case, const void* const* inputs, void* const* outputs) {{
  KcDeviceCase c;
  memcpy(&c, host_case, sizeof(c));
  void* scratch[{}] = {{}};
#define ARGUMENTS {}
{}  __builtin_trap();
}}
)",
                     contract.scratch.size() + 1, arguments_text(pack, contract), cases);
}

// The candidate as C++, or the reason why there is none; one that breaks the contract does not compile.
struct Emulated {
  std::string text;
  std::string left_out;
};

Emulated emulate(const TaskPack& device_pack, const std::vector<CaseSpec>& cases, const Candidate& candidate) {
  const auto refused = [&](const Refusal& refusal) {
    return Emulated{fmt::format("#error {}\n", refusal.text(candidate.name)), ""};
  };
  const auto contract = read_contract(candidate.kernel.source);
  if (!contract) return refused(contract.error());
  if (std::string reason = reason_to_leave_out(*contract); !reason.empty()) return {"", std::move(reason)};
  std::string branches;
  for (const CaseSpec& spec : cases) {
    const auto plan = plan_run(*contract, device_pack, candidate.kernel.parameters, spec, DeviceLimits{});
    if (!plan) return refused(plan.error());
    branches += case_text(device_pack, spec, *plan);
  }
  const std::string file = candidate.name.substr(0, candidate.name.find(' '));
  const std::string unit = cuda_unit(device_pack, *contract, candidate.kernel.parameters, file);
  return {
      fmt::format(
          "#line 1 \"cuda_on_host.h\"\n{}\n#define Case KcDeviceCase\n#define run {}\n{}\n#undef Case\n#undef run\n{}",
          emulation_text(), kRun, with_dynamic_shared(unit), run_text(device_pack, *contract, branches)),
      ""};
}

// Every n-th of a source's instances, so that at most `most` are left.
std::vector<Candidate> thinned(const std::vector<Candidate>& candidates, std::int64_t most) {
  if (most == 0) return candidates;
  std::map<std::string, std::vector<const Candidate*>> by_source;
  std::vector<Candidate> kept;
  for (const Candidate& candidate : candidates) by_source[candidate.kernel.template_id].push_back(&candidate);
  for (const auto& [id, instances] : by_source) {
    const std::size_t step = std::max<std::size_t>(1, instances.size() / static_cast<std::size_t>(most));
    for (std::size_t i = 0; i < instances.size(); i += step) kept.push_back(*instances[i]);
  }
  return kept;
}

}  // namespace

EmulatedPack emulated_pack(const TaskPack& pack, std::int64_t most_per_source) {
  const TaskPack device_pack = pack_for_device(pack, "cuda");
  EmulatedPack result;
  result.pack = pack;
  result.pack.compiler_flags = {"-O1", "-fno-strict-aliasing", "-Wno-narrowing"};
  result.pack.sources.clear();
  for (const Candidate& candidate : thinned(list_candidates(device_pack), most_per_source)) {
    Emulated emulated = emulate(device_pack, pack.cases, candidate);
    if (!emulated.left_out.empty()) {
      if (candidate.is_seed) {
        throw Error(ErrorKind::bad_data, fmt::format("task {}: the seed {} cannot run on the CPU: {}", pack.name,
                                                     candidate.name, emulated.left_out));
      }
      result.left_out.push_back(candidate.name + ": " + emulated.left_out);
    } else if (candidate.is_seed) {
      result.pack.seed = {"cpp", sha256_hex(emulated.text), emulated.text, {}, ""};
      result.pack.seed_name = candidate.name;
    } else {
      result.pack.sources.push_back({candidate.name, std::move(emulated.text), {}, {}, 0, candidate.expect});
    }
  }
  return result;
}

}  // namespace kc
