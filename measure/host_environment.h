#pragma once
#include "measure/compile.h"
#include "measure/process.h"

namespace kc {

// Finds compiler and runner, and decides whether untrusted programs can run as another user below `folder`; says so
// when not. Error{environment} when something is missing.
CompileEnvironment make_compile_environment(const HostOptions& options, const TemporaryFolder& folder);

}  // namespace kc
