#include "cuda/nvrtc_library.h"

#include <dlfcn.h>

#include <cstring>

namespace kc {
namespace {

std::string text_of(int (*size)(void*, std::size_t*), int (*get)(void*, char*), void* program, bool is_text) {
  std::size_t bytes = 0;
  if (size(program, &bytes) != 0 || bytes == 0) return {};
  std::string text(bytes, '\0');
  if (get(program, text.data()) != 0) return {};
  if (is_text) text.resize(std::strlen(text.c_str()));
  return text;
}

}  // namespace

NvrtcLibrary::NvrtcLibrary(const char* path, std::string& fault) {
  void* handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    fault = dlerror();
    return;
  }
  const auto find = [&](const char* name, auto& function) {
    void* symbol = dlsym(handle, name);
    if (symbol == nullptr) fault = std::string("the library lacks ") + name;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
  };
  find("nvrtcVersion", version_);
  find("nvrtcGetErrorString", error_string_);
  find("nvrtcCreateProgram", create_);
  find("nvrtcAddNameExpression", add_name_);
  find("nvrtcCompileProgram", compile_);
  find("nvrtcGetProgramLogSize", log_size_);
  find("nvrtcGetProgramLog", log_);
  find("nvrtcGetCUBINSize", cubin_size_);
  find("nvrtcGetCUBIN", cubin_);
  find("nvrtcDestroyProgram", destroy_);
  if (!fault.empty()) return;
  // NVRTC opens its builtins by their bare name and has no path of its own to them: without this it finds those of an
  // installed toolkit, of whatever version, or none.
  const std::string whole = path;
  const std::string builtins =
      whole.substr(0, whole.rfind('/') + 1) + "libnvrtc-builtins.so." + version().substr(std::string("NVRTC ").size());
  dlopen(builtins.c_str(), RTLD_NOW | RTLD_LOCAL);
}

std::string NvrtcLibrary::version() const {
  int major = 0;
  int minor = 0;
  version_(&major, &minor);
  return "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
}

NvrtcResult NvrtcLibrary::compile(const NvrtcUnit& unit) const {
  Program program = nullptr;
  int code = create_(&program, unit.text.c_str(), unit.file.c_str(), 0, nullptr, nullptr);
  if (code != 0) return {code, error_string_(code), "", ""};
  for (const std::string& instance : unit.instances) add_name_(program, instance.c_str());
  std::vector<const char*> options;
  options.reserve(unit.options.size());
  for (const std::string& option : unit.options) options.push_back(option.c_str());
  code = compile_(program, static_cast<int>(options.size()), options.data());
  NvrtcResult result{code, error_string_(code), text_of(log_size_, log_, program, true), ""};
  if (code == 0) result.cubin = text_of(cubin_size_, cubin_, program, false);
  destroy_(&program);
  return result;
}

}  // namespace kc
