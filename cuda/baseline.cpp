#include "cuda/baseline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"

namespace kc {
namespace {

constexpr const char* kNumbers[] = {"m", "n", "k", "lda", "ldb", "ldc"};
constexpr const char* kTensors[] = {"a", "b", "c"};

// Inputs first, then outputs: as kernels get them.
std::optional<std::uint32_t> buffer_of(const TaskPack& pack, const std::string& name) {
  std::uint32_t index = 0;
  for (const auto* tensors : {&pack.inputs, &pack.outputs}) {
    for (const TensorSpec& tensor : *tensors) {
      if (tensor.name == name) return index;
      ++index;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string baseline_text(const CudaBaseline& baseline) {
  std::string arguments;
  for (const auto& [name, value] : baseline.arguments) {
    arguments += fmt::format("{}{}: {}", arguments.empty() ? "" : ", ", name, value);
  }
  return fmt::format("#pragma kernelcast library {} {}({})\n", baseline.library, baseline.routine, arguments);
}

std::vector<Candidate> baseline_candidates(const TaskPack& pack) {
  std::vector<Candidate> candidates;
  if (!pack.cuda || pack.seed.language != "cuda") return candidates;
  for (const CudaBaseline& baseline : pack.cuda->baselines) {
    const std::string text = baseline_text(baseline);
    candidates.push_back({baseline.name, {"cuda", sha256_hex(text), text, {}}, false, ""});
  }
  return candidates;
}

std::vector<Candidate> device_candidates(const TaskPack& pack) {
  std::vector<Candidate> candidates = list_candidates(pack);
  for (Candidate& baseline : baseline_candidates(pack)) candidates.push_back(std::move(baseline));
  return candidates;
}

const CudaBaseline* find_baseline(const TaskPack& pack, const std::string& source) {
  if (!pack.cuda) return nullptr;
  const auto& all = pack.cuda->baselines;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const CudaBaseline& baseline) { return baseline_text(baseline) == source; });
  return found == all.end() ? nullptr : &*found;
}

Expected<LibraryCall, Refusal> plan_library(const CudaBaseline& baseline, const TaskPack& pack,
                                            const CaseSpec& input_case) {
  const auto refuse = [&](const std::string& message) {
    return Unexpected(Refusal{0, fmt::format("baseline {}: {}", baseline.name, message)});
  };
  if (baseline.routine != "sgemm") return refuse(fmt::format("unknown routine '{}'; expected sgemm", baseline.routine));
  LibraryCall call;
  std::int64_t* numbers[] = {&call.m, &call.n, &call.k, &call.lda, &call.ldb, &call.ldc};
  std::uint32_t* tensors[] = {&call.a, &call.b, &call.c};
  for (std::size_t i = 0; i < std::size(kNumbers); ++i) {
    const auto argument = baseline.arguments.find(kNumbers[i]);
    if (argument == baseline.arguments.end()) return refuse(fmt::format("the argument '{}' is missing", kNumbers[i]));
    try {
      *numbers[i] = evaluate_integer(argument->second, to_variables(input_case.sizes), 1);
    } catch (const Error& e) {
      return refuse(e.what());
    }
  }
  for (std::size_t i = 0; i < std::size(kTensors); ++i) {
    const auto argument = baseline.arguments.find(kTensors[i]);
    const auto buffer = argument == baseline.arguments.end() ? std::nullopt : buffer_of(pack, argument->second);
    if (!buffer) return refuse(fmt::format("the argument '{}' names no tensor of the task", kTensors[i]));
    *tensors[i] = *buffer;
  }
  if (call.c < pack.inputs.size()) return refuse("the argument 'c' is an input");
  if (baseline.arguments.size() != std::size(kNumbers) + std::size(kTensors)) return refuse("an unknown argument");
  return call;
}

}  // namespace kc
