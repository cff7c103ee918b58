#pragma once
// Where the project's own files and a user's checkpoints are found.
#include <filesystem>
#include <string>

namespace kc {

// KERNELCAST_HOME, else the tree that this program was built from.
std::filesystem::path project_root();

// An absolute path as it is; a relative one against the working folder when it exists there, else against
// project_root().
std::filesystem::path find_resource(const std::filesystem::path& path);

// A checkpoint folder itself, or a run folder's `best` (else `latest`, else `warm_start`). Error{bad_data} says what
// was looked for.
std::filesystem::path find_checkpoint(const std::filesystem::path& path);

// The name under which this machine's processor stands in the hardware table.
std::string host_device_name();

}  // namespace kc
