#pragma once
// CUDA candidates on the CPU: what can be said about their results without a GPU.
//
// Every thread runs, in a random order between barriers (cuda/emulation/), and the host's harness checks
// outputs, guard bytes and inputs as for any candidate. This shows faults of indexing, launch shapes, barriers, warp
// exchanges, reads of unwritten shared memory and of arithmetic beyond the last bits. It cannot show how fast anything
// is, races inside a warp's instruction or between barriers that the drawn orders miss, weak memory ordering between
// blocks, the rounding of the device's own functions (__expf, division under fast-math), alignment faults, or anything
// of sources that include the toolkit's headers or inline PTX.
#include <cstdint>
#include <string>
#include <vector>

#include "measure/task_pack.h"

namespace kc {

struct EmulatedPack {
  TaskPack pack;                      // a pack for the host: the host's cases, every CUDA candidate a plain C++ source
  std::vector<std::string> left_out;  // "name: reason"
};

// At most `most_per_source` instances of each template, evenly chosen (0: all). Error{bad_data} when the pack has no
// CUDA part or its seed cannot be emulated.
EmulatedPack emulated_pack(const TaskPack& pack, std::int64_t most_per_source);

}  // namespace kc
