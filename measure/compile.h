#pragma once
// Compiling candidates to shared libraries, each in its own limited process group.
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "measure/host_device.h"

namespace kc {

// What does not change between compilations.
struct CompileEnvironment {
  HostOptions options;
  std::filesystem::path compiler;    // of C++, absolute
  std::filesystem::path c_compiler;  // empty when there is none: a C source is then Error{environment}
  std::filesystem::path runner;
  bool drop_user = false;  // run as nobody
};

struct CompileJob {
  std::string unit;              // whole text
  std::string function = "run";  // must be defined
  std::vector<std::string> flags;
  std::filesystem::path folder;        // is made; receives kernel.cpp (or kernel.c) and kernel.so
  std::string language = "cpp";        // or "c"
  std::filesystem::path program = {};  // the task's own compiler, absolute; empty: the environment's
};

// The jobs of a task, with its flags and its own compilers. Error{environment} when those are not there.
CompileJob candidate_job(const TaskPack& pack, const Candidate& candidate, const std::filesystem::path& folder);
// -O3 and those of the pack that name includes, definitions and the processor: what makes candidates fast must not
// change the reference's arithmetic.
std::vector<std::string> reference_flags(const TaskPack& pack);
CompileJob reference_job(const TaskPack& pack, const std::filesystem::path& folder);

struct CompileResult {
  bool ok = false;
  std::string log;  // first characters of what the compiler said, and why it was stopped
};

// Stands in the log where the compiler was stopped for what it wrote.
inline constexpr const char* kBeyondOutputLimit = "measure.output_limit_mb";
inline constexpr std::size_t kLogExcerpt = 2000;
inline constexpr const char* kLibraryName = "kernel.so";

// Up to `compile_jobs` at a time; results in order. Error{environment} for a full disk, Error{interrupted}.
std::vector<CompileResult> compile_all(const CompileEnvironment& environment, const std::vector<CompileJob>& jobs,
                                       const std::stop_token& stop);

// "-std=c++17 -shared -fPIC" and the flags of the task: as stored with measurements. With C sources in the task, also
// "-std=c17" of those.
std::string flags_text(const std::vector<std::string>& flags, bool with_c = false);

}  // namespace kc
