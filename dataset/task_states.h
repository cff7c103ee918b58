#pragma once
// Which labels of a store belong to their tasks as they are (forecast/task_revision.h).
#include <vector>

#include "dataset/label_store.h"

namespace kc {

// For each row: whether it is of the current state of its task on its device, which is that of the last row that says
// one. Rows that do not say count as of the current state.
std::vector<bool> rows_of_current_state(const Store& store);

}  // namespace kc
