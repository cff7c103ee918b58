// A libcuda.so.1 without a GPU: every call succeeds and does nothing. cuInit tries a file, which CUDA_VISIBLE_DEVICES
// names ("needs:PATH" or "denied:PATH", the one variable that reaches a runner), and fails when it can or cannot be
// read.
#include <cuda.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

extern "C" {

CUresult cuInit(unsigned) {
  const std::string wish = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::size_t colon = wish.find(':');
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
KC_STUB(cuStreamCreate, CUstream*, unsigned)
KC_STUB(cuStreamSynchronize, CUstream)
KC_STUB(cuEventCreate, CUevent*, unsigned)
KC_STUB(cuEventRecord, CUevent, CUstream)
KC_STUB(cuEventElapsedTime, float*, CUevent, CUevent)
KC_STUB(cuModuleLoadData, CUmodule*, const void*)
KC_STUB(cuModuleUnload, CUmodule)
KC_STUB(cuModuleGetFunction, CUfunction*, CUmodule, const char*)
KC_STUB(cuFuncSetAttribute, CUfunction, CUfunction_attribute, int)
KC_STUB(cuMemAlloc, CUdeviceptr*, size_t)
KC_STUB(cuMemFree, CUdeviceptr)
KC_STUB(cuMemcpyHtoD, CUdeviceptr, const void*, size_t)
KC_STUB(cuMemcpyDtoH, void*, CUdeviceptr, size_t)
KC_STUB(cuMemsetD8Async, CUdeviceptr, unsigned char, size_t, CUstream)
KC_STUB(cuTensorMapEncodeTiled, CUtensorMap*, CUtensorMapDataType, cuuint32_t, void*, const cuuint64_t*,
        const cuuint64_t*, const cuuint32_t*, const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle,
        CUtensorMapL2promotion, CUtensorMapFloatOOBfill)
KC_STUB(cuLaunchKernelEx, const CUlaunchConfig*, CUfunction, void**, void**)

}  // extern "C"
