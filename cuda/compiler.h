#pragma once
// Compiling device code in warm, limited processes (docs/cuda.md, "Compilation").
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "cuda/cubin.h"
#include "cuda/host_compiler.h"
#include "cuda/toolkit.h"

namespace kc {

struct CudaCompileOptions {
  std::filesystem::path toolkit;       // empty: as find_cuda_toolkit does
  std::filesystem::path cache;         // folder of compilations; empty: in memory only
  std::int64_t cache_limit_mb = 2048;  // of that folder
  double timeout_s = 60;               // of one compilation, wall and CPU time each
  std::int64_t memory_limit_mb = 4096;
  std::int64_t jobs = 2;         // worker processes at most
  std::string sandbox = "auto";  // auto | require | off
};

struct CudaSource {
  std::string file = "kernel.cu";  // as errors name it
  std::string unit;                // whole text, prelude included
  std::string arch = "sm_90a";
  std::vector<std::string> options;         // of the task, after ours
  std::vector<std::string> instances = {};  // of kernel templates: "kernel<float>"; compiled as if they were launched
  std::size_t source_begin = 0;             // in `unit`: what stands before is ours (leading_headers.h)
};

struct CudaBinary {
  bool ok = false;
  std::string log;    // what the compiler said, at most kLogExcerpt characters; and why it was stopped
  std::string cubin;  // ELF, when ok
  CubinFacts facts;
  bool from_cache = false;
};

// Thread-safe. Workers start when they are needed and stay; one that dies or is stopped is replaced.
class CudaCompiler {
 public:
  // `host`: compiler and limits of host parts. Error{environment}: no NVRTC, no worker program, `sandbox: require` and
  // isolation missing.
  explicit CudaCompiler(const CudaCompileOptions& options, const HostOptions& host = {});
  ~CudaCompiler();

  // Blocks. Error{environment} when no worker can be started; Error{interrupted}.
  CudaBinary compile(const CudaSource& source, const std::stop_token& stop = {});
  // Up to `jobs` at a time; results in order.
  std::vector<CudaBinary> compile_all(std::span<const CudaSource> sources, const std::stop_token& stop = {});

  // Host parts of candidates, kept as the others are. As HostPartCompiler, and its errors.
  std::vector<HostPart> compile_host_parts(std::span<const CompileJob> jobs, const std::stop_token& stop = {});

  std::string version();  // "NVRTC 13.0"
  const CudaToolkit& toolkit() const;
  // Pieces of the workers' isolation that this machine does not offer, for people; empty when all are there.
  std::vector<std::string> missing_isolation();
  // Whether workers keep headers that they have read (docs/cuda.md, "Compilation"): they need a folder of their own.
  bool keeps_headers();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "-std=c++17 -arch=sm_90a ..." as stored with measurements.
std::string cuda_flags_text(const std::string& arch, const std::vector<std::string>& options);

// The program kernelcast-nvrtc: beside the running program, or where KERNELCAST_NVRTC points. Error{environment}.
std::filesystem::path find_nvrtc_worker();

}  // namespace kc
