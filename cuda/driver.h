#pragma once
// The calls of the CUDA driver that measuring needs, behind an interface so that tests can stand in for a GPU. Status 0
// is success; others are CUresult values. Calls are made by one thread; synchronous unless they name the stream.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "cuda/contract.h"

namespace kc {

using DevicePointer = std::uint64_t;
using DriverStatus = int;

struct GpuDevice {
  std::string name;
  std::string uuid;
  int major = 0;
  int minor = 0;
  int multiprocessors = 0;
  int threads_per_multiprocessor = 0;
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t l2_bytes = 0;
  std::int64_t shared_bytes_per_block = 0;  // opted in
  int driver_version = 0;                   // 13000: 13.0
};

// Arguments of cuTensorMapEncodeTiled by its names; the arrays hold `rank` numbers (strides one less).
struct TensorMapSpec {
  int type = 0;
  unsigned rank = 0;
  DevicePointer address = 0;
  const std::uint64_t* sizes = nullptr;
  const std::uint64_t* strides = nullptr;
  const std::uint32_t* box = nullptr;
  const std::uint32_t* element_strides = nullptr;
  int interleave = 0;
  int swizzle = 0;
  int l2_promotion = 0;
  int fill = 0;
};

inline constexpr DriverStatus kInvalidValue = 1;    // CUDA_ERROR_INVALID_VALUE
inline constexpr DriverStatus kNotSupported = 801;  // CUDA_ERROR_NOT_SUPPORTED

class Driver {
 public:
  virtual ~Driver() = default;

  virtual DriverStatus count_devices(int& count) = 0;
  virtual DriverStatus describe(int device, GpuDevice& description) = 0;
  virtual DriverStatus open(int device) = 0;  // a context of this process, its own stream, two events

  virtual DriverStatus load(const std::string& cubin, std::uint64_t& module) = 0;
  virtual DriverStatus unload(std::uint64_t module) = 0;
  // Allows `shared_bytes` of dynamic shared memory.
  virtual DriverStatus function(std::uint64_t module, const std::string& name, unsigned shared_bytes,
                                std::uint64_t& function) = 0;

  // Fills the 128 bytes at `map`, aligned to 64. kNotSupported where the driver lacks tensor maps.
  virtual DriverStatus tensor_map(void* map, const TensorMapSpec& spec) = 0;

  virtual DriverStatus allocate(std::size_t bytes, DevicePointer& memory) = 0;
  virtual DriverStatus free(DevicePointer memory) = 0;
  virtual DriverStatus upload(DevicePointer to, const void* from, std::size_t bytes) = 0;
  virtual DriverStatus download(void* to, DevicePointer from, std::size_t bytes) = 0;

  // On the stream, in order.
  virtual DriverStatus fill(DevicePointer to, unsigned char value, std::size_t bytes) = 0;
  virtual DriverStatus launch(std::uint64_t function, const LaunchShape& shape, void** parameters) = 0;
  // C = A B by cuBLAS. A status beyond CUresult's (100,000 and cublasStatus_t) when the library is missing or fails.
  virtual DriverStatus sgemm(const LibraryCall& call, DevicePointer a, DevicePointer b, DevicePointer c) = 0;
  virtual DriverStatus record_start() = 0;
  virtual DriverStatus record_stop() = 0;
  virtual DriverStatus synchronize() = 0;

  virtual DriverStatus elapsed_ms(float& milliseconds) = 0;  // between the two events
  virtual DriverStatus drop_persisting_lines() = 0;          // limit 0, and reset

  virtual std::string text_of(DriverStatus status) = 0;
  virtual std::int64_t now_ns() = 0;  // the host's clock
};

// libcuda.so.1, loaded at run time. Error{environment} when it is missing, lacks a function or finds no device.
std::unique_ptr<Driver> load_driver();

}  // namespace kc
