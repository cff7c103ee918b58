#pragma once
// Between the readers of adapter_model.safetensors only: its tensors in pairs, from which each reader takes what it
// knows.
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/lora_files_torch.h"

namespace kc {

inline constexpr const char* kAdapterPrefix = "base_model.model.";

struct AdapterPairs {
  std::filesystem::path file;
  std::map<std::string, LowRank> by_path;  // module's path in the file, without the prefix; fp32, finite, both sides

  [[noreturn]] void fail(const std::string& path, const std::string& problem) const;  // Error{bad_data}
  // Error{bad_data} unless side "A" or "B" of the pair at `path` has this shape.
  void expect_shape(const std::string& path, const char* side, const at::Tensor& tensor,
                    const std::vector<std::int64_t>& shape) const;
};

void put_pair(LoraAdapter& adapter, const std::string& module, const LowRank& pair);

// Pairs of single experts, in one of two layouts:
//   experts.N.{gate,up,down}_proj      tinker-cookbook's conversion of Tinker's layout
//   experts.{gate_up,down}_projs.N     Unsloth's, over experts that it has as linear layers; gate_up's rows of B are
//                                      interleaved as the base's columns are
// Moves them into `adapter`; an expert without a pair gets zeros, which add nothing. Returns the modules that the
// layout can have in this model, and in `found` those that had a pair; none of either when the file has no such pair.
// Error{bad_data} names any other layout of single experts.
std::vector<AdaptedModule> take_single_experts(AdapterPairs& pairs, const GptOssConfig& config, LoraAdapter& adapter,
                                               std::set<std::string>& found);

}  // namespace kc
