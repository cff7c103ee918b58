// libFuzzer's entry (scripts/fuzz builds and runs it).
#include "fuzz/harmony_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  kc::check_harmony_input({data, size});
  return 0;
}
