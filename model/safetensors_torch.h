#pragma once
// The safetensors container (weights/safetensors.h) to and from tensors.
#include <filesystem>
#include <map>
#include <string>

#include <ATen/core/Tensor.h>

#include "weights/safetensors.h"

namespace kc {

at::ScalarType scalar_type(Dtype dtype);
TensorHeader spec_of(const std::string& name, const at::Tensor& tensor);

// Error{bad_data} as SafetensorsFile. Tensors own their memory.
std::map<std::string, at::Tensor> read_safetensors(const std::filesystem::path& file);
// Deterministic bytes for equal tensors: names sorted, no timestamps. Returns the file's SHA-256. Not atomic.
std::string write_safetensors(const std::filesystem::path& file, const std::map<std::string, at::Tensor>& tensors);

}  // namespace kc
