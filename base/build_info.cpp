#include "base/build_commit.h"
#include "base/command_line.h"

namespace kc {

std::string version_text() {
  return "Kernelcast " KC_VERSION "\ncommit    " KC_COMMIT "\nLibTorch  " KC_LIBTORCH_VERSION "\ncompiler  " KC_COMPILER
         "\n";
}

}  // namespace kc
