#pragma once
// Times that no machine can have.
#include <optional>
#include <string>

#include "measure/task_pack.h"

namespace kc {

// Nanoseconds that writing the outputs of a case takes at least, at 64 bytes a cycle and 8 GHz per thread: no processor
// stores faster.
double least_nanoseconds(const TaskPack& pack, const CaseSpec& input_case);

// Why a time per launch is impossible, or nothing.
std::optional<std::string> find_impossible_time(const TaskPack& pack, const CaseSpec& input_case, double nanoseconds);

}  // namespace kc
