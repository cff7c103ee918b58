// kernelcast-nvrtc: a compiler process that stays warm. It loads NVRTC, gives up all rights, and compiles what comes
// through its socket; the harness kills it at a limit and starts another.
//
// kernelcast-nvrtc LIBRARY MEMORY_BYTES CPU_SECONDS SANDBOX(0|1) INCLUDE_FOLDER...
#include <dlfcn.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "cuda/nvrtc_protocol.h"
#include "cuda/worker_sandbox.h"

namespace kc {
namespace {

// NVRTC's interface, as its documentation states it.
using Program = void*;
struct Library {
  int (*version)(int*, int*) = nullptr;
  const char* (*error_string)(int) = nullptr;
  int (*create)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*add_name)(Program, const char*) = nullptr;
  int (*compile)(Program, int, const char* const*) = nullptr;
  int (*log_size)(Program, std::size_t*) = nullptr;
  int (*log)(Program, char*) = nullptr;
  int (*cubin_size)(Program, std::size_t*) = nullptr;
  int (*cubin)(Program, char*) = nullptr;
  int (*destroy)(Program*) = nullptr;
};

[[noreturn]] void fail(const std::string& why) {
  send_to_harness({"failed", why});
  _exit(3);
}

template <class F>
void find(void* library, const char* name, F& function) {
  void* symbol = dlsym(library, name);
  if (symbol == nullptr) fail(std::string("the library lacks ") + name);
  function = reinterpret_cast<F>(symbol);
}

Library load(const char* path) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) fail(dlerror());
  Library library;
  find(handle, "nvrtcVersion", library.version);
  find(handle, "nvrtcGetErrorString", library.error_string);
  find(handle, "nvrtcCreateProgram", library.create);
  find(handle, "nvrtcAddNameExpression", library.add_name);
  find(handle, "nvrtcCompileProgram", library.compile);
  find(handle, "nvrtcGetProgramLogSize", library.log_size);
  find(handle, "nvrtcGetProgramLog", library.log);
  find(handle, "nvrtcGetCUBINSize", library.cubin_size);
  find(handle, "nvrtcGetCUBIN", library.cubin);
  find(handle, "nvrtcDestroyProgram", library.destroy);
  return library;
}

std::string text_of(int (*size)(Program, std::size_t*), int (*get)(Program, char*), Program program, bool is_text) {
  std::size_t bytes = 0;
  if (size(program, &bytes) != 0 || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (get(program, text.data()) != 0) return {};
  if (is_text) text.resize(std::strlen(text.c_str()));
  return text;
}

Fields compile(const Library& library, const Fields& request) {
  Program program = nullptr;
  int result = library.create(&program, request[1].c_str(), request[0].c_str(), 0, nullptr, nullptr);
  if (result != 0) return {std::to_string(result), library.error_string(result), "", ""};
  std::vector<const char*> options;
  for (std::size_t i = 2; i < request.size(); ++i) {
    if (request[i].starts_with(nvrtc::kInstance)) {
      library.add_name(program, request[i].c_str() + nvrtc::kInstance.size());
    } else {
      options.push_back(request[i].c_str());
    }
  }
  result = library.compile(program, static_cast<int>(options.size()), options.data());
  Fields reply = {std::to_string(result), library.error_string(result),
                  text_of(library.log_size, library.log, program, true), ""};
  if (result == 0) reply[3] = text_of(library.cubin_size, library.cubin, program, false);
  library.destroy(&program);
  return reply;
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
  end_with_harness();
  limit(RLIMIT_CORE, 0, 0);
  limit(RLIMIT_FSIZE, 0, 0);
  const auto memory = std::strtoull(argv[2], nullptr, 10);
  limit(RLIMIT_AS, memory, memory);
  const auto cpu_seconds = std::strtoull(argv[3], nullptr, 10);
  const Library library = load(argv[1]);
  int major = 0;
  int minor = 0;
  library.version(&major, &minor);
  // Loads what NVRTC loads late, while files may still be opened.
  compile(library, {"warm.cu", "extern \"C\" __global__ void warm(float* x) { *x = 1; }", "-arch=sm_90"});
  unsigned missing = 0;
  if (argv[4][0] == '1') {
    std::vector<std::string> readable(argv + 5, argv + argc);
    const std::string path = argv[1];
    readable.push_back(path.substr(0, path.rfind('/')));
    missing = enter_worker_sandbox(readable);
  }
  send_to_harness({"hello", "NVRTC " + std::to_string(major) + "." + std::to_string(minor), std::to_string(missing)});
  for (;;) {
    const Fields request = receive_from_harness();
    if (request.size() < 2) _exit(4);
    allow_cpu(cpu_seconds);
    const Fields reply = compile(library, request);
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
