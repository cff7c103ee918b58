#pragma once
// NVRTC, loaded by its path into the compile worker.
#include <cstddef>
#include <string>
#include <vector>

namespace kc {

struct NvrtcUnit {
  std::string file, text;
  std::vector<std::string> options;
  std::vector<std::string> instances;  // of templates, compiled as if they were launched
};

struct NvrtcResult {
  int code = 0;      // of nvrtcCompileProgram; 0: it compiled
  std::string name;  // of the code
  std::string log;
  std::string cubin;
};

class NvrtcLibrary {
 public:
  // What is missing stands in `fault`; the library is then not to be used.
  NvrtcLibrary(const char* path, std::string& fault);
  std::string version() const;  // "NVRTC 13.0"
  NvrtcResult compile(const NvrtcUnit& unit) const;

 private:
  // NVRTC's interface, as its documentation states it.
  using Program = void*;
  int (*version_)(int*, int*) = nullptr;
  const char* (*error_string_)(int) = nullptr;
  int (*create_)(Program*, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
  int (*add_name_)(Program, const char*) = nullptr;
  int (*compile_)(Program, int, const char* const*) = nullptr;
  int (*log_size_)(Program, std::size_t*) = nullptr;
  int (*log_)(Program, char*) = nullptr;
  int (*cubin_size_)(Program, std::size_t*) = nullptr;
  int (*cubin_)(Program, char*) = nullptr;
  int (*destroy_)(Program*) = nullptr;
};

}  // namespace kc
