#pragma once
// The parts that task.yaml is read from; used by task_pack*.cpp only.
#include <string>
#include <vector>

#include "measure/task_pack.h"
#include "measure/yaml_reader.h"

namespace kc::task_parts {

// Adds the line of the file to a fault of an expression.
template <class F>
auto located(const YamlReader& node, const F& evaluation) {
  try {
    return evaluation();
  } catch (const Error& e) {
    throw node.fault(e.what());
  }
}

bool is_identifier(const std::string& name);
std::string read_identifier(const YamlReader& node);
std::string read_source(const TaskPack& pack, const YamlReader& node);

// The list `cases` of `node`, every size of the pack in each.
std::vector<CaseSpec> read_cases(const std::vector<std::string>& size_names, const YamlReader& node);

CandidateSource read_candidate(const TaskPack& pack, const YamlReader& node);

// A seed kernel in `language` and its name for people; its parameters in the order in which its template declares them.
struct NamedKernel {
  KernelText kernel;
  std::string name;
};
NamedKernel read_seed(const TaskPack& pack, const std::vector<CandidateSource>& sources, const std::string& language,
                      const YamlReader& node);

// The key `cache` of a device's part: whether inputs are to come out of memory.
bool read_cold_cache(const YamlReader& node);

// The part `cuda`, after the rest of the pack.
CudaPart read_cuda_part(const TaskPack& pack, const YamlReader& node);

}  // namespace kc::task_parts
