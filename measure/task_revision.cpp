#include "measure/task_revision.h"

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/hash.h"

namespace kc {
namespace {

// Texts of any content side by side: each says how long it is.
void put(std::string& bytes, const std::string& text) { bytes += fmt::format("{}:{};", text.size(), text); }

void put(std::string& bytes, const TensorSpec& tensor) {
  put(bytes, tensor.name);
  put(bytes, tensor.shape);
  put(bytes,
      fmt::format("{} {} {}", static_cast<int>(tensor.dtype), tensor.options.size(), tensor.check_options.size()));
  for (const auto& options : {tensor.options, tensor.check_options}) {
    for (const auto& [name, value] : options) {
      put(bytes, name);
      put(bytes, value);
    }
  }
  put(bytes, tensor.generator);
  put(bytes, tensor.check_generator);
}

std::string bytes_of(const TaskPack& pack) {
  std::string bytes;
  put(bytes, pack.name);
  put(bytes, fmt::format("{}", fmt::join(pack.size_names, ",")));
  put(bytes, fmt::format("{} {} {}", pack.cases.size(), pack.inputs.size(), pack.outputs.size()));
  for (const CaseSpec& one : pack.cases) {
    put(bytes, one.name);
    put(bytes, fmt::format("{}", one.sizes));
  }
  for (const TensorSpec& input : pack.inputs) put(bytes, input);
  for (const TensorSpec& output : pack.outputs) put(bytes, output);
  const Tolerance& tolerance = pack.tolerance;
  put(bytes, fmt::format("{} {} {}", tolerance.relative, tolerance.absolute, tolerance.standard_errors));
  // Of the other device's part nothing: adding one changes no label.
  const bool on_a_gpu = pack.seed.language == "cuda";
  put(bytes, on_a_gpu ? fmt::format("gpu {}", pack.cuda && pack.cuda->cold_cache)
                      : fmt::format("{} {}", pack.threads, pack.cold_cache));
  put(bytes, pack.work);
  put(bytes, pack.reference_source);
  put(bytes, pack.seed.language);
  put(bytes, pack.seed.prologue);
  put(bytes, kernel_id(pack.seed));
  return bytes;
}

}  // namespace

double task_revision(const TaskPack& pack) {
  constexpr std::size_t kDigits = 13;  // of 4 bits: what a double holds exactly
  return static_cast<double>(std::stoull(sha256_hex(bytes_of(pack)).substr(0, kDigits), nullptr, 16));
}

}  // namespace kc
