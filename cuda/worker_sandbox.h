#pragma once
// The compile worker's isolation: no file but those of the toolkit, no program, no network, no other process.
#include <string>
#include <vector>

namespace kc {

// Enters it for the rest of the process; `readable` are folders that may be read. Returns nvrtc::kNo... bits of what
// this machine does not offer. With root's rights, and where these folders can be read without them, the user becomes
// `nobody`.
unsigned enter_worker_sandbox(const std::vector<std::string>& readable);

}  // namespace kc
