#pragma once
// The second contract (docs/cuda.md, "Host code"): device code, then `#pragma kernelcast host` and C++ that launches
// it, for kernels whose launch needs values made by the driver (tensor maps). The C++ part is compiled in the limited
// compiler process and runs in the runner of its candidate alone; it is given the driver as a table of functions
// (cuda/host_table.h), and its times are taken by the harness's clock: a lower class of trust.
#include <filesystem>
#include <string>
#include <string_view>

#include "cuda/contract.h"
#include "measure/compile.h"

namespace kc {

inline constexpr const char* kHostFunction = "run";  // of the C++ part
inline constexpr const char* kHostPrototype =
    "int run(const KernelcastHost* host, const Case* c, const void* const* inputs, void* const* outputs, "
    "void* const* scratch)";

// The text of cuda/host_table.h, built into the library.
std::string_view host_table_text();

// What stands before the C++ part: the table `KernelcastHost`, `struct Case`, the prototype of `run`, the define lines,
// #line, so that errors name the candidate's own lines.
std::string host_prelude(const TaskPack& pack, const CudaContract& contract, const Parameters& parameters,
                         const std::string& file);

// The C++ part's job; `folder` receives kernel.so. Precondition: contract.host_source is not empty.
CompileJob host_job(const TaskPack& pack, const CudaContract& contract, const Parameters& parameters,
                    const std::string& file, const std::filesystem::path& folder);

}  // namespace kc
