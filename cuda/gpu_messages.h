#pragma once
// What the harness and a GPU runner process (kernelcast-gpu) say to each other. The runner is ours and holds a CUDA
// context in which one candidate's kernels run; it never holds an expected result.
//
// prepare: {"prepare", Prepare, cubin, instruments' cubin, shape, shape ...}; shapes name kernels
// turn:    {"turn", Turn, input set of launch 0, 1, ...}     sets are laid out by gpu_layout, guards included
// quit:    {"quit"}
// reply:   {Reply, text of the status, output set of launch 0, 1, ...}
//
// A turn that the harness's clock times comes in three parts (docs/cuda.md, "Host code"):
// arm:     {"arm", Turn, input sets}: everything before the launches
// go:      {"go", Go}: the launches; their reply is their end, with a digest of the outputs
// collect: {"collect"}: the outputs
// With host code of the candidate, before the first `prepare`:
// confine: {"confine"}: the isolation that it needs
// host:    {"host", DeviceLimits, library}
#include <cstdint>

#include "cuda/contract.h"
#include "cuda/fields.h"

namespace kc {

inline constexpr std::size_t kMaxBuffers = 32;  // inputs, outputs, scratch
inline constexpr std::size_t kMaxCaseSizes = 16;
inline constexpr std::size_t kMaxTurnLaunches = 64;

// The plan of one case, as plain bytes.
struct PlanMessage {
  std::int64_t sizes[kMaxCaseSizes] = {};
  std::uint32_t size_count = 0;
  std::uint32_t inputs = 0;
  std::uint32_t outputs = 0;
  std::uint32_t scratch = 0;
  std::uint64_t bytes[kMaxBuffers] = {};  // of every buffer, in this order
  std::uint32_t reload = 0;               // load the module anew before every turn
  std::uint32_t cold = 1;                 // flush L2 before the timed span
};

// A step as a field: the kernel's name follows the shape; an empty name: zero the buffer.
struct StepMessage {
  std::uint32_t grid[3] = {1, 1, 1};
  std::uint32_t block[3] = {1, 1, 1};
  std::uint32_t cluster[3] = {1, 1, 1};
  std::uint32_t shared_bytes = 0;
  std::uint32_t zero = 0;  // buffer, outputs first, then scratch
  char kernel[128] = {};
  std::uint32_t is_library = 0;
  LibraryCall library;
};

struct TurnMessage {
  std::uint64_t poison = 0;  // seed of the pattern in outputs and scratch
  std::uint32_t launches = 1;
};

struct GoMessage {
  std::uint64_t key = 0;       // of the outputs' digest
  std::uint32_t launches = 1;  // 0: none, for the time of all that is not one
};

enum class TurnVerdict : std::uint32_t {
  ok,
  late,            // the queue was not full when the timed span began: time it again
  inputs_changed,  // an input or its guards differ from what was uploaded
  scratch_broken,  // a byte outside the scratch buffers changed
  candidate,       // a launch failed: `status`
  environment,     // anything else failed: `status`
};

struct ReplyMessage {
  TurnVerdict verdict = TurnVerdict::ok;
  std::int32_t status = 0;   // CUresult
  double span_ns = 0;        // between the events, of all launches
  std::int64_t wall_ns = 0;  // by the host's clock, from the first launch queued to the end
  double sm_mhz_before = 0;  // by clock64 and globaltimer, beside the timed span
  double sm_mhz_after = 0;
  std::uint64_t digest = 0;  // of the outputs of a `go` (output_digest.h)
};

Fields prepare_message(const PlanMessage& plan, const std::string& cubin, const std::string& instruments,
                       const std::vector<Step>& steps);

// Our own kernels: one that waits and measures the clock, and that of output_digest.h.
std::string instrument_source();
inline constexpr const char* kDelayKernel = "kc_delay";

}  // namespace kc
