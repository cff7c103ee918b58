#pragma once
// What a model folder holds, from its headers alone.
#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "weights/checkpoint_files.h"

namespace kc {

struct ParameterGroup {
  std::string name;  // "attention", "experts (MXFP4)", ...
  std::int64_t tensors = 0;
  std::int64_t parameters = 0;  // values; MXFP4 scales are part of their blocks' values
  std::int64_t bytes = 0;
};

struct Inspection {
  GptOssConfig config;
  CheckpointLayout layout = CheckpointLayout::hugging_face;
  std::vector<ParameterGroup> groups;  // each at least one tensor
  std::int64_t parameters = 0, bytes = 0, files = 0;
};

Inspection inspect(const CheckpointFiles& files);
nlohmann::json to_json(const Inspection& inspection, const CheckpointFiles& files);  // with every tensor
std::string to_text(const Inspection& inspection);                                   // tables

}  // namespace kc
