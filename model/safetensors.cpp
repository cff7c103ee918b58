#include <cstring>

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include "base/error.h"
#include "model/safetensors_torch.h"

namespace kc {

at::ScalarType scalar_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return at::kDouble;
    case Dtype::f32:
      return at::kFloat;
    case Dtype::f16:
      return at::kHalf;
    case Dtype::bf16:
      return at::kBFloat16;
    case Dtype::i64:
      return at::kLong;
    case Dtype::i32:
      return at::kInt;
    case Dtype::u8:
      return at::kByte;
    case Dtype::boolean:
      return at::kBool;
  }
  throw Error(ErrorKind::internal, "scalar_type: no such dtype");
}

TensorHeader spec_of(const std::string& name, const at::Tensor& tensor) {
  for (const Dtype dtype :
       {Dtype::f64, Dtype::f32, Dtype::f16, Dtype::bf16, Dtype::i64, Dtype::i32, Dtype::u8, Dtype::boolean})
    if (scalar_type(dtype) == tensor.scalar_type()) return {name, dtype, tensor.sizes().vec()};
  throw Error(ErrorKind::internal, fmt::format("tensor \"{}\": its type has no name in the safetensors format", name));
}

std::map<std::string, at::Tensor> read_safetensors(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  std::map<std::string, at::Tensor> tensors;
  for (const TensorEntry& entry : file.tensors()) {
    at::Tensor t = at::empty(entry.spec.shape, at::TensorOptions().dtype(scalar_type(entry.spec.dtype)));
    const std::span<const std::byte> data = file.data(entry);
    if (!data.empty()) std::memcpy(t.mutable_data_ptr(), data.data(), data.size());
    tensors[entry.spec.name] = t;
  }
  return tensors;
}

std::string write_safetensors(const std::filesystem::path& file, const std::map<std::string, at::Tensor>& tensors) {
  std::vector<TensorHeader> specs;
  specs.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) specs.push_back(spec_of(name, tensor));
  SafetensorsWriter writer(file, specs);
  for (const auto& [name, tensor] : tensors) {
    const at::Tensor data = tensor.detach().cpu().contiguous();
    writer.write({static_cast<const std::byte*>(data.const_data_ptr()), data.nbytes()});
  }
  return writer.finish();
}

}  // namespace kc
