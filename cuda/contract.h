#pragma once
// What a CUDA candidate is (docs/cuda.md, "The contract"): device code, with directives that say how it is launched.
//
//   #pragma kernelcast scratch partial f32(ceil_div(N, BLOCK))
//   #pragma kernelcast zero partial
//   #pragma kernelcast launch run grid(ceil_div(N, BLOCK)) block(BLOCK) shared(4 * BLOCK) when(ALGORITHM == 1)
//
// Expressions are those of task packs over the task's sizes, the template's tunables and MULTIPROCESSORS.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/expected.h"
#include "measure/expression.h"
#include "measure/task_pack.h"

namespace kc {

// A candidate that breaks the contract: its status is compile_error, and this its log.
struct Refusal {
  int line = 0;  // of the source, from 1; 0: the whole
  std::string message;
  std::string text(const std::string& file) const;  // "transpose.cu(12): refused: ..."
};

struct LaunchDirective {
  int line = 0;
  std::string kernel;
  std::array<std::string, 3> grid = {"1", "1", "1"};
  std::array<std::string, 3> block = {"1", "1", "1"};
  std::array<std::string, 3> cluster = {"1", "1", "1"};
  std::string shared = "0";  // dynamic shared memory, bytes
  std::string when = "1";
};

struct ScratchDirective {
  int line = 0;
  std::string name;
  DataType dtype = DataType::f32;
  std::string elements;
};

// One step of a run, in order: a launch, or a buffer (an output or scratch) that is set to zero bytes.
struct StepDirective {
  std::optional<LaunchDirective> launch;
  std::string zero;
  int line = 0;
};

struct CudaContract {
  std::vector<StepDirective> steps;
  std::vector<ScratchDirective> scratch;
  std::string device_source;  // directives blanked; as many lines as the source
  std::string host_source;    // after `#pragma kernelcast host`: C++ for wrappers that need it; empty: device code only
  int host_line = 0;
  std::vector<std::string> kernels() const;  // names, each once
};

// Reads the directives, but not those in comments and strings. A source without a launch and without a host part is
// refused, one that has both, and one whose host part is blank.
Expected<CudaContract, Refusal> read_contract(std::string_view source);

// Device facts that launch shapes are checked against.
struct DeviceLimits {
  int multiprocessors = 108;
  int threads_per_block = 1024;
  std::int64_t shared_bytes_per_block = 227 * 1024;  // static and dynamic, opted in
  std::array<std::int64_t, 3> grid = {2147483647, 65535, 65535};
  std::array<std::int64_t, 3> block = {1024, 1024, 64};
};

struct LaunchShape {
  std::string kernel;
  std::array<unsigned, 3> grid = {1, 1, 1};
  std::array<unsigned, 3> block = {1, 1, 1};
  std::array<unsigned, 3> cluster = {1, 1, 1};
  unsigned shared_bytes = 0;
  unsigned threads() const { return block[0] * block[1] * block[2]; }
};

// What of a launch is beyond the device, in words; nothing for one that fits. Shared memory: the dynamic alone.
std::optional<std::string> shape_fault(const LaunchShape& shape, const DeviceLimits& limits);

// C = A B in single precision, column-major, as cublasSgemm has it. Buffers: inputs, then outputs.
struct LibraryCall {
  std::int64_t m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0;
  std::uint32_t a = 0, b = 0, c = 0;
};

struct Step {
  std::optional<LaunchShape> launch;
  std::size_t zero = 0;                     // without a launch: index of the buffer, outputs first, then scratch
  std::optional<LibraryCall> library = {};  // of a baseline
};

struct RunPlan {
  std::vector<Step> steps;
  std::vector<std::size_t> scratch_bytes;
};

// The launches of one case. Refused: an expression that fails, a shape beyond the limits, more than 64 steps, scratch
// beyond `kMaxScratchBytes`.
Expected<RunPlan, Refusal> plan_run(const CudaContract& contract, const TaskPack& pack, const Parameters& parameters,
                                    const CaseSpec& input_case, const DeviceLimits& limits);

inline constexpr std::size_t kMaxScratchBytes = std::size_t{2} << 30;

// What stands before the candidate: `struct Case`, the kernels' prototypes, the define lines, #line.
std::string cuda_prelude(const TaskPack& pack, const CudaContract& contract, const Parameters& parameters,
                         const std::string& file);
// The whole text of the device part that is compiled.
std::string cuda_unit(const TaskPack& pack, const CudaContract& contract, const Parameters& parameters,
                      const std::string& file);

// "float", "unsigned char", ...
std::string_view cuda_type(DataType type);

}  // namespace kc
