#pragma once
// What the compile worker (kernelcast-nvrtc) and the harness say to each other (fields.h).
//
// hello, worker to harness: {"hello", "NVRTC 13.0", missing bits in decimal, "1" if it keeps headers} or {"failed",
// why}
//
// request: {file name, source, option, option, ...}
//
// reply: {result of nvrtcCompileProgram in decimal, its name, log, cubin}
#include <string_view>

#include "cuda/fields.h"

namespace kc::nvrtc {

// An option that names a template's instance, which is compiled as if it were launched.
inline constexpr std::string_view kInstance = "kernelcast-instance=";

// A field with the #include lines that the source begins with (leading_headers.h); one at most.
inline constexpr std::string_view kHeaders = "kernelcast-headers=";

inline constexpr int kOutOfMemory = 1;  // NVRTC_ERROR_OUT_OF_MEMORY

// Bits of what the worker could not put in place.
inline constexpr unsigned kNoLandlock = 1;
inline constexpr unsigned kNoSystemCallFilter = 2;
inline constexpr unsigned kNoUser = 4;

}  // namespace kc::nvrtc
