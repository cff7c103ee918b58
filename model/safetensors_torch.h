#pragma once
// The safetensors container (u64 header length, JSON header, raw row-major data).
#include <filesystem>
#include <map>
#include <string>

#include <ATen/core/Tensor.h>

namespace kc {

// Error{bad_data} names file and tensor: truncated file, header longer than the file or than 100 MB, overlapping or
// out-of-range offsets, unknown dtype. Tensors own their memory.
std::map<std::string, at::Tensor> read_safetensors(const std::filesystem::path& file);
// Deterministic bytes for equal tensors: names sorted, no timestamps.
void write_safetensors(const std::filesystem::path& file, const std::map<std::string, at::Tensor>& tensors);

}  // namespace kc
