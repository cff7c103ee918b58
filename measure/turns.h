#pragma once
// One turn of a runner: poisoned outputs, fresh inputs, the clock, and the check of everything that came out.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/expected.h"
#include "measure/input_pool.h"
#include "measure/runner.h"

namespace kc {

// Valid while the pool and the layout live, until the next call.
TurnSpec turn_spec(const InputPool& pool, const SetLayout& outputs, std::size_t launches);

// Launches once on each of these sets of the pool. Nanoseconds per launch, or why the turn is void: the runner's
// failure, an output that differs, a broken guard. `warm_launches` come before (TurnSpec); what they write is poisoned
// like everything else. Error{environment} names the task when inputs that must be warm could not be brought into the
// caches.
Expected<double, RunnerFailure> take_turn(Runner& runner, const InputPool& pool, std::span<const std::size_t> sets,
                                          RngStream& rng, std::size_t warm_launches = 0);

}  // namespace kc
