#pragma once

namespace kc {

int usable_cores();  // logical ones that this process may run on; at least 1

}  // namespace kc
