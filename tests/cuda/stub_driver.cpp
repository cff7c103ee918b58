// A libcuda.so.1 without a GPU: every call succeeds. cuInit tries a file, which CUDA_VISIBLE_DEVICES names
// ("needs:PATH" or "denied:PATH", the one variable that reaches a runner), and fails when it can or cannot be read;
// "eager:" asks for modules that are loaded whole.
//
// Memory is the host's, and every stream does its work when it is awaited, no sooner: the latest that CUDA allows. A
// kernel copies the 8 bytes that its second parameter points to, to where its first one points.
#include <cuda.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

using Work = std::function<void()>;

std::map<CUstream, std::vector<Work>>& streams() {
  static std::map<CUstream, std::vector<Work>> streams;
  return streams;
}

CUresult enqueue(CUstream stream, Work work) {
  streams()[stream].push_back(std::move(work));
  return CUDA_SUCCESS;
}

void finish(CUstream stream) {
  for (const Work& work : std::exchange(streams()[stream], {})) work();
}

void* host(CUdeviceptr pointer) {
  return reinterpret_cast<void*>(pointer);  // NOLINT(performance-no-int-to-ptr)
}

Work copy_to_device(CUdeviceptr to, const void* from, std::size_t bytes) {
  const auto* first = static_cast<const char*>(from);
  return
      [to, staged = std::vector<char>(first, first + bytes)] { std::memcpy(host(to), staged.data(), staged.size()); };
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) {
  const std::string wish = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::size_t colon = wish.find(':');
  if (wish.starts_with("eager:")) {
    const char* loading = std::getenv("CUDA_MODULE_LOADING");
    return loading != nullptr && std::string(loading) == "EAGER" ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  const int fd = open(wish.substr(colon + 1).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) close(fd);
  return (fd >= 0) == (wish.substr(0, colon) == "needs") ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}
CUresult cuGetErrorName(CUresult, const char** text) { return *text = "CUDA_ERROR_OPERATING_SYSTEM", CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult, const char** text) { return *text = "stub", CUDA_SUCCESS; }

#define KC_STUB(name, ...) \
  CUresult name(__VA_ARGS__) { return CUDA_SUCCESS; }
KC_STUB(cuDriverGetVersion, int*)
KC_STUB(cuDeviceGetCount, int*)
KC_STUB(cuDeviceGet, CUdevice*, int)
KC_STUB(cuDeviceGetName, char*, int, CUdevice)
KC_STUB(cuDeviceGetUuid, CUuuid*, CUdevice)
KC_STUB(cuDeviceGetAttribute, int*, CUdevice_attribute, CUdevice)
KC_STUB(cuDeviceTotalMem, size_t*, CUdevice)
KC_STUB(cuDevicePrimaryCtxRetain, CUcontext*, CUdevice)
KC_STUB(cuDevicePrimaryCtxRelease, CUdevice)
KC_STUB(cuCtxSetCurrent, CUcontext)
KC_STUB(cuCtxSetLimit, CUlimit, size_t)
KC_STUB(cuCtxResetPersistingL2Cache)
KC_STUB(cuEventCreate, CUevent*, unsigned)
KC_STUB(cuEventRecord, CUevent, CUstream)
KC_STUB(cuEventElapsedTime, float*, CUevent, CUevent)
KC_STUB(cuModuleLoadData, CUmodule*, const void*)
KC_STUB(cuModuleUnload, CUmodule)
KC_STUB(cuFuncSetAttribute, CUfunction, CUfunction_attribute, int)
KC_STUB(cuTensorMapEncodeTiled, CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
        const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
        CUtensorMapL2promotion, CUtensorMapFloatOOBfill)

CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) { return *function = nullptr, CUDA_SUCCESS; }
CUresult cuStreamCreate(CUstream* stream, unsigned) {
  static char created[8];  // each address is a stream
  static int count = 0;
  return *stream = reinterpret_cast<CUstream>(&created[count++ % 8]), CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) { return finish(stream), CUDA_SUCCESS; }

CUresult cuMemAlloc(CUdeviceptr* pointer, size_t bytes) {
  return *pointer = reinterpret_cast<CUdeviceptr>(std::calloc(bytes, 1)), CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr pointer) { return std::free(host(pointer)), CUDA_SUCCESS; }
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, size_t bytes) {
  return enqueue(nullptr, copy_to_device(to, from, bytes));  // staged: the copy itself may come later
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return enqueue(stream, copy_to_device(to, from, bytes));
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, size_t bytes) {
  finish(nullptr);
  return std::memcpy(to, host(from), bytes), CUDA_SUCCESS;
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return enqueue(stream, [=] { std::memcpy(to, host(from), bytes); });
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  return enqueue(stream, [=] { std::memset(host(to), value, bytes); });
}
// The function 1 copies 8 bytes; those of modules do nothing.
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters, void**) {
  if (reinterpret_cast<std::uintptr_t>(function) != 1) return CUDA_SUCCESS;
  const auto to = *static_cast<CUdeviceptr*>(parameters[0]);
  const auto from = *static_cast<CUdeviceptr*>(parameters[1]);
  return enqueue(config->hStream, [=] { std::memcpy(host(to), host(from), 8); });
}

}  // extern "C"
