#include "base/command_line.h"
#include "build_commit.h"

namespace kc {

std::string version_text() {
  return "Kernelcast " KC_VERSION "\ncommit    " KC_COMMIT "\nLibTorch  " KC_LIBTORCH_VERSION "\ncompiler  " KC_COMPILER
         "\n";
}

}  // namespace kc
