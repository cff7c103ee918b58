// kernelcast-nvrtc: a compiler process that stays warm. It loads NVRTC, gives up all rights, and compiles what comes
// through its socket; the harness kills it at a limit and starts another.
//
// kernelcast-nvrtc LIBRARY MEMORY_BYTES CPU_SECONDS SANDBOX(0|1) INCLUDE_FOLDER...
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cuda/nvrtc_library.h"
#include "cuda/nvrtc_protocol.h"
#include "cuda/precompiled_headers.h"
#include "cuda/worker_sandbox.h"

namespace kc {
namespace {

[[noreturn]] void fail(const std::string& why) {
  send_to_harness({"failed", why});
  _exit(3);
}

// A request's fields apart: options, instances and leading headers are told by their beginnings.
Fields compile(PrecompiledHeaders& headers, const Fields& request) {
  NvrtcUnit unit{request[0], request[1], {}, {}};
  std::string leading;
  for (std::size_t i = 2; i < request.size(); ++i) {
    const std::string& field = request[i];
    if (field.starts_with(nvrtc::kInstance)) {
      unit.instances.push_back(field.substr(nvrtc::kInstance.size()));
    } else if (field.starts_with(nvrtc::kHeaders)) {
      leading = field.substr(nvrtc::kHeaders.size());
    } else {
      unit.options.push_back(field);
    }
  }
  NvrtcResult result = headers.compile(unit, leading);
  // The front end runs out of memory with an error of the source, NVRTC without one.
  const bool is_full = result.log.find("catastrophic error: out of memory") != std::string::npos;
  if (result.code != 0 && is_full) {
    result.code = nvrtc::kOutOfMemory;
    result.name = "the compiler reached its limit of memory";
  }
  return {std::to_string(result.code), std::move(result.name), std::move(result.log), std::move(result.cubin)};
}

void limit(__rlimit_resource resource, rlim_t soft, rlim_t hard) {
  const rlimit both{soft, hard};
  setrlimit(resource, &both);
}

// CPU seconds are counted from the process's start: each compilation gets its own allowance.
void allow_cpu(rlim_t seconds) {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto used = static_cast<rlim_t>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
  limit(RLIMIT_CPU, used + seconds + 1, RLIM_INFINITY);
}

int serve(int argc, char** argv) {
  const bool isolated = argv[4][0] == '1';
  std::vector<std::string> readable(argv + 5, argv + argc);
  const std::string path = argv[1];
  readable.push_back(path.substr(0, path.rfind('/')));
  // Before a second thread starts: a user namespace is for a process of one.
  std::vector<std::string> needed = readable;
  needed.push_back(path);
  const std::string kept = isolated ? make_private_folder(PrecompiledHeaders::kFolderBytes, needed) : "";
  if (!kept.empty()) setenv("TMPDIR", kept.c_str(), 1);  // making precompiled headers takes a temporary file
  end_with_harness();
  limit(RLIMIT_CORE, 0, 0);
  const auto memory = std::strtoull(argv[2], nullptr, 10);
  limit(RLIMIT_AS, memory, memory);
  const auto cpu_seconds = std::strtoull(argv[3], nullptr, 10);
  std::string fault;
  const NvrtcLibrary library(argv[1], fault);
  if (!fault.empty()) fail(fault);
  // Loads what NVRTC loads late, while files may still be opened.
  library.compile({"warm.cu", "extern \"C\" __global__ void warm(float* x) { *x = 1; }", {"-arch=sm_90"}, {}});
  const unsigned missing = isolated ? enter_worker_sandbox(readable, kept) : 0;
  const bool keeps = !kept.empty() && (missing & nvrtc::kNoLandlock) == 0;
  const rlim_t file_bytes = keeps ? PrecompiledHeaders::kFolderBytes : 0;
  limit(RLIMIT_FSIZE, file_bytes, file_bytes);
  PrecompiledHeaders headers(library, keeps ? kept : "", static_cast<double>(cpu_seconds));
  send_to_harness({"hello", library.version(), std::to_string(missing), keeps ? "1" : "0"});
  for (;;) {
    const Fields request = receive_from_harness();
    if (request.size() < 2) _exit(4);
    allow_cpu(cpu_seconds);
    const Fields reply = compile(headers, request);
    limit(RLIMIT_CPU, RLIM_INFINITY, RLIM_INFINITY);
    send_to_harness(reply);
  }
}

}  // namespace
}  // namespace kc

int main(int argc, char** argv) {
  if (argc >= 5) return kc::serve(argc, argv);
  std::fputs("kernelcast-nvrtc: started by the measuring programs only\n", stderr);
  return 2;
}
