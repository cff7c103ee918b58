#include "cuda/host_contract.h"

#include <fmt/format.h>

namespace kc {
namespace {

// A C interface, so that a wrapper needs no header of CUDA. Functions return 0 or a CUresult.
constexpr const char* kTable = R"(struct KernelcastHost {
  int version;  // 1
  int multiprocessors;
  // One launch, in order with the others of this run; clusters of 1 x 1 x 1 are none.
  int (*launch)(const KernelcastHost*, const char* kernel, const unsigned grid[3], const unsigned block[3],
                const unsigned cluster[3], unsigned shared_bytes, void** parameters);
  // Fills 128 bytes, aligned to 64, with a tensor map; arguments as cuTensorMapEncodeTiled has them.
  int (*tensor_map)(const KernelcastHost*, void* map, int type, unsigned rank, void* address,
                    const unsigned long long* sizes, const unsigned long long* strides, const unsigned* box,
                    const unsigned* element_strides, int interleave, int swizzle, int l2_promotion, int fill);
  int (*zero)(const KernelcastHost*, void* address, unsigned long long bytes);
};
)";

}  // namespace

std::string host_prelude(const TaskPack& pack, const CudaContract& contract, const Parameters& parameters,
                         const std::string& file) {
  std::string text = kTable;
  text += "struct Case {";
  for (const std::string& name : pack.size_names) text += fmt::format(" long long {};", name);
  text += " };\n";
  // Pointers are the device's.
  text +=
      "extern \"C\" int run(const KernelcastHost* host, const Case* c, const void* const* inputs, void* const* "
      "outputs, "
      "void* const* scratch);\n";
  for (const auto& [name, value] : parameters) text += fmt::format("#define {} {}\n", name, value);
  return text + fmt::format("#line {} \"{}\"\n", contract.host_line + 1, file);
}

CompileJob host_job(const TaskPack& pack, const CudaContract& contract, const Parameters& parameters,
                    const std::string& file, const std::filesystem::path& folder) {
  return {host_prelude(pack, contract, parameters, file) + contract.host_source, "run", {"-O2"}, folder};
}

}  // namespace kc
