#pragma once
#include <filesystem>

#include "forecast/kernel_text.h"

namespace kc {

// A source file as a kernel: its leading `#define NAME value` lines are taken as tunables, so instances of one template
// are recognised; the language follows from the file's extension, a byte order mark is no part of it. Error{bad_data}
// when it cannot be read, is no text, or holds nothing but blanks.
KernelText read_kernel_file(const std::filesystem::path& file);

}  // namespace kc
