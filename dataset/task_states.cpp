#include "dataset/task_states.h"

#include <map>
#include <string_view>
#include <utility>

#include "forecast/task_revision.h"

namespace kc {

std::vector<bool> rows_of_current_state(const Store& store) {
  std::map<std::pair<std::string_view, std::string_view>, double> current;
  for (const Measurement& m : store.measurements) {
    if (const auto revision = task_revision(m)) current[{m.task, m.provenance.device}] = *revision;
  }
  std::vector<bool> is_current;
  for (const Measurement& m : store.measurements) {
    const auto revision = task_revision(m);
    is_current.push_back(!revision || *revision == current.at({m.task, m.provenance.device}));
  }
  return is_current;
}

}  // namespace kc
