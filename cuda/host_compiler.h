#pragma once
// Compiling host parts of candidates (docs/cuda.md, "Host code") by the host's compiler under its limits, each text
// once.
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "cuda/compile_cache.h"
#include "measure/compile.h"
#include "measure/process.h"

namespace kc {

struct HostPart {
  bool ok = false;
  std::string log;
  std::string library;  // ELF, when ok
};

// What a linker or a compiler that was ended says of a host part, in the contract's words; nothing for errors that name
// a line themselves.
std::optional<std::string> host_fault(const std::string& log);

// Thread-safe.
class HostPartCompiler {
 public:
  // `cache` must outlive this. Error{environment}: no compiler, no runner program.
  HostPartCompiler(const HostOptions& options, CompileCache& cache);

  // As many at a time as the options say; results in order. `folder` of a job is ours to choose. Error{environment}
  // for a full disk, Error{interrupted}.
  std::vector<HostPart> compile_all(std::span<const CompileJob> jobs, const std::stop_token& stop);

 private:
  std::string key_of(const CompileJob& job) const;
  HostPart finish(const std::string& key, const CompileJob& job, const CompileResult& result);

  TemporaryFolder folder_;
  CompileEnvironment environment_;
  std::string version_;
  CompileCache& cache_;
  std::mutex mutex_;  // of the folder's names
  std::size_t folders_ = 0;
};

}  // namespace kc
