#pragma once
// Folding an adapter into its base.
#include <cstdint>
#include <filesystem>
#include <stop_token>

#include "base/command_line.h"

namespace kc {

struct Merge {
  std::int64_t tensors = 0;  // of the new folder
  std::int64_t changed = 0;  // of them, those that the adapter changes
  std::int64_t bytes = 0;
};

// Writes a Hugging Face folder whose weights are W + s B A, added in fp32 and stored in the base's dtype; tensor by
// tensor, experts one by one, so that memory stays small. MXFP4 experts of a layer where the adapter changes some
// become bf16 ones, those of other layers stay as they are; a tied head that it changes becomes a matrix of its own.
// Error{usage} when `out` cannot take it (require_output_folder), Error{bad_data} for an adapter that does not fit
// (load_adapter), Error{interrupted} when stopped, with nothing written.
Merge merge_adapter(const std::filesystem::path& model, const std::filesystem::path& adapter,
                    const std::filesystem::path& out, const std::stop_token& stop);

void add_merge_command(CommandLine& line);  // `checkpoint merge`

}  // namespace kc
