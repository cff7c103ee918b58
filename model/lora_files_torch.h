#pragma once
// Adapter folders: adapter_config.json and adapter_model.safetensors. Two layouts are read and written, two with pairs
// of single experts are read (lora_pairs_torch.h):
//   PEFT    as peft 0.21 writes over transformers 5: linear layers by module; each expert parameter as one pair
//           lora_A [r E, in] (row e r + j), lora_B [out, r E] (column j E + e), the inner of the two nested wrappers
//           under `experts.base_layer`. The transposed pairs of older combinations are recognised by gate_up's shapes.
//   Tinker  attn.{q,k,v,o}_proj, experts.{w1 gate, w3 up, w2 down} as [E or 1, ., .], unembed_tokens.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "model/lora_torch.h"
#include "model/transformer_torch.h"

namespace kc {

bool is_adapter_folder(const std::filesystem::path& folder);

// What adapter_config.json says. Error{bad_data} names file and key for anything that changes the arithmetic and is not
// supported (DoRA, biases, rank_pattern, modules_to_save ...).
struct AdapterConfig {
  std::int64_t rank = 0;
  double alpha = 0;
  bool rank_stabilised = false;
  std::string base;                         // base_model_name_or_path
  std::vector<std::string> target_modules;  // names; or, when `pattern`, one regular expression over whole names
  bool pattern = false;
  std::vector<std::string> target_parameters;  // names of expert parameters
  std::vector<std::int64_t> layers;            // layers_to_transform; empty: all
  std::vector<std::string> excluded;           // exclude_modules: names
};
AdapterConfig load_adapter_config(const std::filesystem::path& folder);

// Error{bad_data} names file and tensor or target: missing, unexpected, of another shape; a target that matches
// nothing; an lm_head.base_layer.weight that is not the base's.
// `head` gives the base's lm_head (the embedding when tied), and is asked only when the file holds a copy of it.
LoraAdapter load_adapter(const std::filesystem::path& folder, const GptOssConfig& config,
                         const std::function<at::Tensor()>& head);
LoraAdapter load_adapter(const std::filesystem::path& folder, const GptOssConfig& config, const GptOssWeights& base);

enum class AdapterLayout { peft, tinker };
// What the tensors can be written in without loss or growth: Tinker's when experts share a side or gate and up are
// apart.
AdapterLayout natural_layout(const LoraAdapter& adapter);

// Writes both files into `folder`, which must exist; `base` is what adapter_config.json names. PEFT's layout of an
// adapter that is natural in Tinker's has twice the rank (peft_form). Returns adapter_model.safetensors' hash.
std::string save_adapter(const std::filesystem::path& folder, const LoraAdapter& adapter, const GptOssConfig& config,
                         const std::string& base, AdapterLayout layout);

// The same function with gate_up_proj joined, per expert, of one rank (twice the old one, padded with zeros elsewhere).
LoraAdapter peft_form(const LoraAdapter& adapter, const GptOssConfig& config);

// PEFT's packing of an expert pair: a [E, r, in], b [E, out, r] to lora_A [r E, in], lora_B [out, r E] and back.
LowRank pack_experts(const LowRank& pair);
LowRank unpack_experts(const LowRank& packed, std::int64_t experts, bool transposed);

// Names of the modules that an adapter can have, with their sizes.
struct AdaptedModule {
  std::string name;  // as in LoraAdapter
  std::int64_t in = 0, out = 0;
  bool experts = false;
};
std::vector<AdaptedModule> adaptable_modules(const GptOssConfig& config);  // joined gate_up_proj

}  // namespace kc
