#pragma once
// Landlock: what files a process may touch, by a rule of the kernel that outlives exec (ABI 1 from Linux 5.13 on).
#include <span>
#include <string>

namespace kc {

// Version of the kernel's interface; 0 when there is none or it is switched off.
int landlock_abi();

struct LandlockPath {
  std::string path;  // a folder with all below it, or a file; one that does not exist is passed over
  bool writable = false;
};

// From here on this process and its children reach these paths only (to read and execute, or to write too), connect to
// and listen on no TCP port (ABI 4), and signal only processes under the same rules (ABI 6). Takes no_new_privs.
// False when the kernel cannot.
bool restrict_with_landlock(std::span<const LandlockPath> paths);

}  // namespace kc
