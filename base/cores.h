#pragma once

namespace kc {

// Whether the calling thread runs on this core alone from here on.
bool stay_on_core(int core);

int usable_cores();  // logical ones that this process may run on; at least 1

}  // namespace kc
