#pragma once
// Library routines as candidates (docs/cuda.md, "baselines"): their text is one directive that only a pack may use, so
// that a candidate cannot call the library in the place of a kernel.
#include <string>
#include <vector>

#include "base/expected.h"
#include "cuda/contract.h"
#include "measure/task_pack.h"

namespace kc {

// "#pragma kernelcast library cublas sgemm(m: N, ...)": the text of a baseline.
std::string baseline_text(const CudaBaseline& baseline);

// One candidate for each baseline of the pack, named as the baseline; none of a pack of another device.
std::vector<Candidate> baseline_candidates(const TaskPack& pack);

// What a device measures of its pack (pack_for_device): list_candidates, and behind them the baselines of a GPU.
std::vector<Candidate> device_candidates(const TaskPack& pack);

// The baseline whose text this is, or null.
const CudaBaseline* find_baseline(const TaskPack& pack, const std::string& source);

// The call for one case. Refused: an argument that is missing or unknown, a tensor that the pack does not have.
Expected<LibraryCall, Refusal> plan_library(const CudaBaseline& baseline, const TaskPack& pack,
                                            const CaseSpec& input_case);

}  // namespace kc
