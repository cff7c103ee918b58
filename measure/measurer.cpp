#include "measure/measurer.h"

#include <utility>

#include "measure/task_revision.h"

namespace kc {

void identify(Measurement& result, const MeasureRequest& request, Provenance provenance) {
  result.task = request.task->name;
  result.kernel = request.candidate.kernel;
  result.kernel_name = request.candidate.name;
  result.is_seed = request.candidate.is_seed;
  result.facts[kTaskRevision] = task_revision(*request.task);
  result.provenance = std::move(provenance);
}

}  // namespace kc
