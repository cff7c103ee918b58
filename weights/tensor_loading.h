#pragma once
// From a model folder's files into memory: parallel, through mapped pages that are let go as soon as they are copied,
// so that loading holds little more than the weights themselves.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/cores.h"
#include "weights/checkpoint_files.h"

namespace kc {

// task(i) once for each i in [0, count), on `threads` threads (0: usable_cores()). The first exception is thrown again
// after all threads have ended.
void run_in_parallel(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task);

// Rows [from, to) of `wanted`'s first axis into `out`, contiguous, in wanted.dtype: copied, widened from bfloat16 to
// float32 (exact), rounded from float32 to bfloat16 (to nearest even), or decoded from MXFP4. Thread-safe.
void read_rows(const TensorSource& source, const TensorHeader& wanted, std::int64_t from, std::int64_t to,
               std::byte* out);

// Ranges of rows of a tensor that are worth one task each: some MB, or one expert.
std::vector<std::pair<std::int64_t, std::int64_t>> row_ranges(const TensorHeader& spec);

struct LoadTarget {
  TensorHeader wanted;
  std::byte* data = nullptr;  // wanted.bytes() of them
};

// Fills all targets. Shows progress when it takes long. Error{bad_data} before any copying when a target has no source.
void load_tensors(const CheckpointFiles& files, std::span<const LoadTarget> targets, int threads = 0);

}  // namespace kc
