#pragma once
// What isolation holds here, found by trying: `kernelcast-runner probe PART FOLDER CGROUPS`.

namespace kc {

// Puts one part in place for this process, then tries what that part must prevent. Parts: namespaces, folder, user,
// landlock, limits; filter and cgroup-memory (which end this process by SIGSYS and SIGKILL where they work);
// cgroup-pids. Exit code: 0 it held, 1 it did not, 2 it could not be put in place.
int probe_isolation(const char* part, const char* folder, const char* cgroups);

}  // namespace kc
