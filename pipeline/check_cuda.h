#pragma once
// `measure check --device cuda`: the CUDA parts of task packs, as far as a machine without a GPU can check them.
#include <stop_token>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "cuda/admission.h"
#include "cuda/cuda_device.h"

namespace kc {

struct CudaCheck {
  std::string task;
  std::vector<CudaVariant> variants;  // by architecture, in the order of the pack
  EmulatedCheck emulated;
  std::vector<TaskFinding> findings;  // of compilation, then of the CPU
};

// `pack` supports cuda. Blocks for a minute or so. Throws as compile_variants and check_emulated.
CudaCheck check_cuda_task(const TaskPack& pack, const CudaOptions& options, const std::stop_token& stop);

std::string check_text(const CudaCheck& check);
std::string not_shown_text();
nlohmann::json to_json(const CudaCheck& check);

nlohmann::json to_json(const std::vector<TaskFinding>& findings);
// A line for each.
std::string findings_text(const std::vector<TaskFinding>& findings);

}  // namespace kc
