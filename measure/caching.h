#pragma once
// A decorator that measures no kernel twice.
#include <memory>
#include <vector>

#include "measure/measurer.h"

namespace kc {

// What `inner` measured before is answered from memory: the same kernel, task and its revision (seed, cases, inputs
// ...), device, compiler, flags and harness version. Failures are answered too, but for timeouts, which a busy machine
// makes. `known` (a label store's rows) counts as measured before where it tells the revision of its task; the last row
// of a kernel wins. A fresh request is always measured, and its answer replaces what was kept. Holds at most `capacity`
// results, the oldest go first. on_result is called for answers from memory first, then as `inner` reports.
std::unique_ptr<Measurer> make_caching_measurer(std::unique_ptr<Measurer> inner,
                                                const std::vector<Measurement>& known = {},
                                                std::size_t capacity = 65536);

}  // namespace kc
