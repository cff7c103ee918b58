#pragma once
// The compile worker's isolation: no file but those of the toolkit, no program, no network, no other process.
#include <cstddef>
#include <string>
#include <vector>

namespace kc {

// A folder that this process alone sees and that is gone with it: a file system in memory, of at most `bytes`, in a
// mount namespace of its own, in the place of a folder that leads to none of `readable`. Empty where this machine does
// not allow it. To be called before a second thread starts.
std::string make_private_folder(std::size_t bytes, const std::vector<std::string>& readable);

// Enters it for the rest of the process: `readable` are folders that may be read, `writable` is one that may be written
// to as well, or empty. Returns nvrtc::kNo... bits of what this machine does not offer. With root's rights, and where
// these folders can be read without them, the user becomes `nobody`.
unsigned enter_worker_sandbox(const std::vector<std::string>& readable, const std::string& writable);

}  // namespace kc
