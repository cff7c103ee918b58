#pragma once
// Between the two files of lora_files_torch.h only.
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "model/lora_files_torch.h"

namespace kc {

// PEFT's matching of names: equal, or a suffix after a dot; or one regular expression. Error{bad_data} for a target
// that matches no module, for matched modules without tensors (`found` has those with), and for tensors that no target
// names.
void check_targets(const std::filesystem::path& folder, const AdapterConfig& config,
                   const std::vector<AdaptedModule>& modules, const std::set<std::string>& found);

}  // namespace kc
