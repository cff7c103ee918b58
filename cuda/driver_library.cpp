#include <cuda.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "cuda/driver.h"

namespace kc {
namespace {

// The header renames functions to their newest versions by macros; the library is asked for exactly that name.
#define KC_NAME_OF(name) KC_NAME_TEXT(name)
#define KC_NAME_TEXT(name) #name

// Handles and addresses of the driver, which the interface carries as numbers.
template <class P>
P handle_of(std::uint64_t number) {
  return reinterpret_cast<P>(number);  // NOLINT(performance-no-int-to-ptr)
}

constexpr DriverStatus kBlasFault = 100000;

// cuBLAS, loaded when a baseline first needs it; its functions as NVIDIA's documentation states them.
class Blas {
 public:
  bool start(CUstream stream) {
    if (handle_ != nullptr) return true;
    const char* chosen = std::getenv("KERNELCAST_CUBLAS");
    void* library = dlopen(chosen != nullptr ? chosen : "libcublas.so.13", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    const auto create = reinterpret_cast<int (*)(void**)>(dlsym(library, "cublasCreate_v2"));
    const auto set_stream = reinterpret_cast<int (*)(void*, void*)>(dlsym(library, "cublasSetStream_v2"));
    sgemm_ = reinterpret_cast<Sgemm>(dlsym(library, "cublasSgemm_v2"));
    if (create == nullptr || set_stream == nullptr || sgemm_ == nullptr) return false;
    return create(&handle_) == 0 && set_stream(handle_, stream) == 0;
  }

  int sgemm(const LibraryCall& call, DevicePointer a, DevicePointer b, DevicePointer c) {
    const float one = 1;
    const float zero = 0;
    return sgemm_(handle_, 0, 0, static_cast<int>(call.m), static_cast<int>(call.n), static_cast<int>(call.k), &one,
                  handle_of<const float*>(a), static_cast<int>(call.lda), handle_of<const float*>(b),
                  static_cast<int>(call.ldb), &zero, handle_of<float*>(c), static_cast<int>(call.ldc));
  }

 private:
  using Sgemm = int (*)(void*, int, int, int, int, int, const float*, const float*, int, const float*, int,
                        const float*, float*, int);
  void* handle_ = nullptr;
  Sgemm sgemm_ = nullptr;
};

class LibraryDriver : public Driver {
 public:
  LibraryDriver() {
    ::setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);  // as runners have it: an index is the same device in all processes
    const CUresult started = init_(0);
    if (started == CUDA_SUCCESS) return;
    throw Error(ErrorKind::environment, fmt::format("the CUDA driver does not start: {}; is there a GPU, and may this "
                                                    "user open /dev/nvidia*?",
                                                    text_of(started)));
  }
  ~LibraryDriver() override {
    if (context_ != nullptr) release_(device_);
  }
  LibraryDriver(const LibraryDriver&) = delete;
  LibraryDriver& operator=(const LibraryDriver&) = delete;

  DriverStatus count_devices(int& count) override { return count_(&count); }

  DriverStatus describe(int device, GpuDevice& out) override {
    CUdevice handle = 0;
    if (const CUresult fault = get_(&handle, device)) return fault;
    char name[256] = {};
    if (const CUresult fault = name_(name, sizeof name, handle)) return fault;
    out.name = name;
    CUuuid uuid = {};
    uuid_(&uuid, handle);
    for (const char byte : uuid.bytes) out.uuid += fmt::format("{:02x}", static_cast<unsigned char>(byte));
    out.major = attribute(handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    out.minor = attribute(handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    out.multiprocessors = attribute(handle, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    out.threads_per_multiprocessor = attribute(handle, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
    out.clock_khz = attribute(handle, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
    out.memory_clock_khz = attribute(handle, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
    out.memory_bus_bits = attribute(handle, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
    out.l2_bytes = attribute(handle, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    out.shared_bytes_per_block = attribute(handle, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    std::size_t bytes = 0;
    memory_(&bytes, handle);
    out.memory_bytes = static_cast<std::int64_t>(bytes);
    version_(&out.driver_version);
    return CUDA_SUCCESS;
  }

  DriverStatus open(int device) override {
    if (const CUresult fault = get_(&device_, device)) return fault;
    if (const CUresult fault = retain_(&context_, device_)) return fault;
    if (const CUresult fault = set_current_(context_)) return fault;
    if (const CUresult fault = create_stream_(&stream_, CU_STREAM_NON_BLOCKING)) return fault;
    if (const CUresult fault = create_event_(&start_, CU_EVENT_DEFAULT)) return fault;
    return create_event_(&stop_, CU_EVENT_DEFAULT);
  }

  DriverStatus load(const std::string& cubin, std::uint64_t& module) override {
    CUmodule handle = nullptr;
    const CUresult result = load_(&handle, cubin.data());
    module = reinterpret_cast<std::uint64_t>(handle);
    return result;
  }
  DriverStatus unload(std::uint64_t module) override { return unload_(handle_of<CUmodule>(module)); }

  DriverStatus function(std::uint64_t module, const std::string& name, unsigned shared_bytes,
                        std::uint64_t& function) override {
    CUfunction handle = nullptr;
    if (const CUresult fault = function_(&handle, handle_of<CUmodule>(module), name.c_str())) return fault;
    function = reinterpret_cast<std::uint64_t>(handle);
    if (shared_bytes == 0) return CUDA_SUCCESS;
    return set_attribute_(handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(shared_bytes));
  }

  DriverStatus tensor_map(void* map, const TensorMapSpec& s) override {
    if (tensor_map_ == nullptr) return kNotSupported;
    return tensor_map_(static_cast<CUtensorMap*>(map), static_cast<CUtensorMapDataType>(s.type), s.rank,
                       handle_of<void*>(s.address), s.sizes, s.strides, s.box, s.element_strides,
                       static_cast<CUtensorMapInterleave>(s.interleave), static_cast<CUtensorMapSwizzle>(s.swizzle),
                       static_cast<CUtensorMapL2promotion>(s.l2_promotion),
                       static_cast<CUtensorMapFloatOOBfill>(s.fill));
  }

  DriverStatus allocate(std::size_t bytes, DevicePointer& memory) override {
    CUdeviceptr pointer = 0;
    const CUresult result = allocate_(&pointer, bytes);
    memory = pointer;
    return result;
  }
  DriverStatus free(DevicePointer memory) override { return free_(memory); }
  // In order with the launches: the stream does not wait for the default one, where a copy of pageable memory may still
  // be on its way when the call that is named synchronous returns.
  DriverStatus upload(DevicePointer to, const void* from, std::size_t bytes) override {
    const CUresult fault = upload_(to, from, bytes, stream_);
    return fault != CUDA_SUCCESS ? fault : synchronize_(stream_);
  }
  DriverStatus download(void* to, DevicePointer from, std::size_t bytes) override {
    const CUresult fault = download_(to, from, bytes, stream_);
    return fault != CUDA_SUCCESS ? fault : synchronize_(stream_);
  }

  DriverStatus fill(DevicePointer to, unsigned char value, std::size_t bytes) override {
    return fill_(to, value, bytes, stream_);
  }

  DriverStatus launch(std::uint64_t function, const LaunchShape& shape, void** parameters) override {
    CUlaunchAttribute cluster = {};
    cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    cluster.value.clusterDim.x = shape.cluster[0];
    cluster.value.clusterDim.y = shape.cluster[1];
    cluster.value.clusterDim.z = shape.cluster[2];
    CUlaunchConfig config = {};
    config.gridDimX = shape.grid[0];
    config.gridDimY = shape.grid[1];
    config.gridDimZ = shape.grid[2];
    config.blockDimX = shape.block[0];
    config.blockDimY = shape.block[1];
    config.blockDimZ = shape.block[2];
    config.sharedMemBytes = shape.shared_bytes;
    config.hStream = stream_;
    config.attrs = &cluster;
    config.numAttrs = shape.cluster[0] * shape.cluster[1] * shape.cluster[2] > 1 ? 1 : 0;
    return launch_(&config, handle_of<CUfunction>(function), parameters, nullptr);
  }

  DriverStatus sgemm(const LibraryCall& call, DevicePointer a, DevicePointer b, DevicePointer c) override {
    if (!blas_.start(stream_)) return kBlasFault;
    const int fault = blas_.sgemm(call, a, b, c);
    return fault == 0 ? 0 : kBlasFault + fault;
  }

  DriverStatus record_start() override { return record_(start_, stream_); }
  DriverStatus record_stop() override { return record_(stop_, stream_); }
  DriverStatus synchronize() override { return synchronize_(stream_); }
  DriverStatus elapsed_ms(float& milliseconds) override { return elapsed_(&milliseconds, start_, stop_); }

  DriverStatus drop_persisting_lines() override {
    // Devices before compute capability 8.0 have no such lines and answer that they do not support it.
    set_limit_(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0);
    reset_persisting_();
    return CUDA_SUCCESS;
  }

  std::string text_of(DriverStatus status) override {
    if (status >= kBlasFault) {
      return fmt::format("cuBLAS: {}", status == kBlasFault
                                           ? "libcublas is missing or does not start (KERNELCAST_CUBLAS)"
                                           : fmt::format("status {}", status - kBlasFault));
    }
    const char* name = nullptr;
    const char* words = nullptr;
    error_name_(static_cast<CUresult>(status), &name);
    error_text_(static_cast<CUresult>(status), &words);
    return fmt::format("{} ({})", name == nullptr ? "unknown error" : name, words == nullptr ? "" : words);
  }

  std::int64_t now_ns() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }

 private:
  // Null where the driver lacks it.
  static void* find_any(const char* name) {
    static void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      throw Error(ErrorKind::environment,
                  "libcuda.so.1 is missing: it comes with NVIDIA's driver, not with the toolkit");
    }
    return dlsym(library, name);
  }

  template <class F>
  static F find(const char* name) {
    void* symbol = find_any(name);
    if (symbol == nullptr) {
      throw Error(ErrorKind::environment, fmt::format("the CUDA driver lacks {}: it is older than CUDA 12", name));
    }
    return reinterpret_cast<F>(symbol);
  }

  int attribute(CUdevice device, CUdevice_attribute which) {
    int value = 0;
    attribute_(&value, which, device);
    return value;
  }

// NOLINTNEXTLINE(bugprone-macro-parentheses): names of types and members
#define KC_DRIVER(member, name) decltype(&::name) member = find<decltype(&::name)>(KC_NAME_OF(name))
  KC_DRIVER(init_, cuInit);
  KC_DRIVER(version_, cuDriverGetVersion);
  KC_DRIVER(count_, cuDeviceGetCount);
  KC_DRIVER(get_, cuDeviceGet);
  KC_DRIVER(name_, cuDeviceGetName);
  KC_DRIVER(uuid_, cuDeviceGetUuid);
  KC_DRIVER(attribute_, cuDeviceGetAttribute);
  KC_DRIVER(memory_, cuDeviceTotalMem);
  KC_DRIVER(retain_, cuDevicePrimaryCtxRetain);
  KC_DRIVER(release_, cuDevicePrimaryCtxRelease);
  KC_DRIVER(set_current_, cuCtxSetCurrent);
  KC_DRIVER(set_limit_, cuCtxSetLimit);
  KC_DRIVER(reset_persisting_, cuCtxResetPersistingL2Cache);
  KC_DRIVER(create_stream_, cuStreamCreate);
  KC_DRIVER(synchronize_, cuStreamSynchronize);
  KC_DRIVER(create_event_, cuEventCreate);
  KC_DRIVER(record_, cuEventRecord);
  KC_DRIVER(elapsed_, cuEventElapsedTime);
  KC_DRIVER(load_, cuModuleLoadData);
  KC_DRIVER(unload_, cuModuleUnload);
  KC_DRIVER(function_, cuModuleGetFunction);
  KC_DRIVER(set_attribute_, cuFuncSetAttribute);
  KC_DRIVER(allocate_, cuMemAlloc);
  KC_DRIVER(free_, cuMemFree);
  KC_DRIVER(upload_, cuMemcpyHtoDAsync);
  KC_DRIVER(download_, cuMemcpyDtoHAsync);
  KC_DRIVER(fill_, cuMemsetD8Async);
  KC_DRIVER(launch_, cuLaunchKernelEx);
  KC_DRIVER(error_name_, cuGetErrorName);
  KC_DRIVER(error_text_, cuGetErrorString);
#undef KC_DRIVER
  // Only some candidates need it.
  decltype(&::cuTensorMapEncodeTiled) tensor_map_ =
      reinterpret_cast<decltype(&::cuTensorMapEncodeTiled)>(find_any(KC_NAME_OF(cuTensorMapEncodeTiled)));

  Blas blas_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  CUevent start_ = nullptr;
  CUevent stop_ = nullptr;
};

}  // namespace

std::unique_ptr<Driver> load_driver() { return std::make_unique<LibraryDriver>(); }

}  // namespace kc
