#pragma once
// Where the project's own files and a user's checkpoints are found.
#include <filesystem>
#include <string>

namespace kc {

// KERNELCAST_HOME, else the tree that this program was built from.
std::filesystem::path project_root();

// An absolute path as it is; a relative one against the working folder when it exists there, else against
// project_root(). One that is in neither comes back as it was given, so that messages name it as the user did.
std::filesystem::path find_resource(const std::filesystem::path& path);

// A checkpoint folder itself, or a run folder's `best` (else `latest`, else `warm_start`). Error{bad_data} says what
// was looked for.
std::filesystem::path find_checkpoint(const std::filesystem::path& path);

// Makes the folder where it is missing and writes a file there for a moment: long work must not end with a result that
// it cannot store. Error{environment}.
void require_writable_folder(const std::filesystem::path& folder);

// The name under which this machine's processor stands in the hardware table.
std::string host_device_name();

}  // namespace kc
