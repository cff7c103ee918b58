#pragma once
// The fact task_revision of labels (forecast/task_revision.h), from a task pack.
#include "forecast/task_revision.h"
#include "measure/task_pack.h"

namespace kc {

// Of all that a candidate is judged by and timed against: cases, inputs, outputs, tolerance, reference, seed, threads,
// cache and work, as the pack's device sees them (pack_for_device). Titles, comments and other candidates do not change
// it; neither do compilers and flags, which a label's provenance names. The first 52 bits of a SHA-256.
double task_revision(const TaskPack& pack);

}  // namespace kc
