#pragma once
// Which low-rank adapter a training run adds to its base (docs/adapters.md).
#include <cstdint>
#include <string>
#include <vector>

#include "base/config.h"

namespace kc {

struct LoraOptions {
  std::int64_t rank = 0;  // 0: no adapter, the whole model is trained
  double alpha = 32;      // the adapter's output is scaled by alpha / rank
  std::vector<std::string> targets = {"attention", "experts", "unembedding"};
  bool shared_experts = true;  // one side of each expert pair is common to all experts

  bool on() const { return rank > 0; }
  bool targets_part(const std::string& part) const;  // "attention" | "experts" | "unembedding"
};
LoraOptions read_lora_options(Config& config);  // section `model.lora`

}  // namespace kc
