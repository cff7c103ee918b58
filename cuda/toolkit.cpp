#include "cuda/toolkit.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "base/error.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

fs::path nvrtc_below(const fs::path& root) {
  for (const char* folder : {"lib", "lib64", "targets/x86_64-linux/lib"}) {
    std::error_code missing;
    for (const auto& entry : fs::directory_iterator(root / folder, missing)) {
      const std::string name = entry.path().filename().string();
      const std::string prefix = "libnvrtc.so.";
      // "libnvrtc.so.13": not libnvrtc.alt.so, not the full version behind the link.
      if (name.starts_with(prefix) && name.find('.', prefix.size()) == std::string::npos) return entry.path();
    }
  }
  return {};
}

std::optional<CudaToolkit> toolkit_at(const fs::path& root) {
  CudaToolkit toolkit;
  toolkit.root = root;
  toolkit.nvrtc = nvrtc_below(root);
  const fs::path include = root / "include";
  if (toolkit.nvrtc.empty() || !fs::exists(include / "cuda.h")) return std::nullopt;
  toolkit.includes = {include};
  if (fs::exists(include / "cccl")) toolkit.includes.push_back(include / "cccl");
  toolkit.has_core_libraries = fs::exists(include / "cccl" / "cub") || fs::exists(include / "cub");
  toolkit.has_crt = fs::exists(include / "crt");
  return toolkit;
}

std::vector<fs::path> places(const fs::path& root) {
  if (!root.empty()) return {root};
  if (const char* chosen = std::getenv("KERNELCAST_CUDA"); chosen != nullptr && *chosen != '\0') return {chosen};
  std::vector<fs::path> found;
  const std::string configured = KC_CUDA_ROOTS;  // separated by ':'
  for (std::size_t at = 0; at <= configured.size();) {
    const std::size_t end = std::min(configured.find(':', at), configured.size());
    if (end > at) found.emplace_back(configured.substr(at, end - at));
    at = end + 1;
  }
  found.emplace_back("/usr/local/cuda");
  return found;
}

}  // namespace

CudaToolkit find_cuda_toolkit(const fs::path& root) {
  std::string looked;
  for (const fs::path& place : places(root)) {
    if (auto toolkit = toolkit_at(place)) return *toolkit;
    looked += (looked.empty() ? "" : ", ") + place.string();
  }
  throw Error(ErrorKind::environment,
              fmt::format("no NVRTC: looked for libnvrtc.so and include/cuda.h below {}; run scripts/setup, or set "
                          "KERNELCAST_CUDA to the folder of a CUDA toolkit (12 or newer)",
                          looked));
}

}  // namespace kc
