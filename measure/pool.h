#pragma once
// Several devices of one kind as one.
#include <memory>
#include <string>
#include <vector>

#include "measure/measurer.h"

namespace kc {

struct PooledDevice {
  std::string name;  // in messages
  std::unique_ptr<Measurer> measurer;
};

// Every device works on its own thread, on up to 16 candidates of one task at a time; each times exclusively. All must
// give a task the same device name, compiler, flags and harness version (Error{usage}), because their times are then
// labels of one device. A device that breaks (Error{environment}: the line is cut, say) is left out with a warning and
// its candidates go to the others; the error is thrown when none is left. Any other error stops all and is thrown.
std::unique_ptr<Measurer> make_pool(std::vector<PooledDevice> devices);

}  // namespace kc
