#include "cuda/host_code.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "cuda/host_contract.h"

namespace kc {
namespace {

constexpr std::uintptr_t kMapAlignment = 64;
constexpr std::size_t kShownName = 100;  // characters

bool write_all(int fd, const std::string& bytes) {
  for (std::size_t at = 0; at < bytes.size();) {
    const ssize_t count = ::write(fd, bytes.data() + at, bytes.size() - at);
    if (count <= 0) return false;
    at += static_cast<std::size_t>(count);
  }
  return true;
}

DevicePointer device_address(const void* pointer) { return reinterpret_cast<DevicePointer>(pointer); }

// The integers of the table have these sizes on every machine that we build for.
static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t) && sizeof(unsigned) == sizeof(std::uint32_t));

const std::uint64_t* words(const unsigned long long* numbers) {
  return reinterpret_cast<const std::uint64_t*>(numbers);
}

}  // namespace

HostCode::HostCode(Driver& driver, const DeviceLimits& limits) : driver_(driver), limits_(limits) {
  table_.version = 1;
  table_.multiprocessors = limits.multiprocessors;
  table_.owner = this;
  table_.launch = [](const KernelcastHost* host, const char* kernel, const unsigned* grid, const unsigned* block,
                     const unsigned* cluster, unsigned shared_bytes, void** parameters) {
    LaunchShape shape;
    shape.kernel = kernel;
    std::copy_n(grid, 3, shape.grid.begin());
    std::copy_n(block, 3, shape.block.begin());
    std::copy_n(cluster, 3, shape.cluster.begin());
    shape.shared_bytes = shared_bytes;
    return owner_of(host).launch(shape, parameters);
  };
  table_.tensor_map = [](const KernelcastHost* host, void* map, int type, unsigned rank, const void* address,
                         const unsigned long long* sizes, const unsigned long long* strides, const unsigned* box,
                         const unsigned* element_strides, int interleave, int swizzle, int l2_promotion, int fill) {
    return owner_of(host).tensor_map(map, {type, rank, device_address(address), words(sizes), words(strides), box,
                                           element_strides, interleave, swizzle, l2_promotion, fill});
  };
  table_.zero = [](const KernelcastHost* host, void* address, unsigned long long bytes) {
    return owner_of(host).zero(device_address(address), bytes);
  };
}

// From memory: the runner can write to no file. The file stays open, because the loader knows a library by the name
// that it was opened by: another one must not get it.
std::optional<std::string> HostCode::load(const std::string& library) {
  const int file = ::memfd_create("kernelcast-host-part", MFD_CLOEXEC);
  if (file < 0 || !write_all(file, library)) return "no memory for the host part";
  void* loaded = ::dlopen(fmt::format("/proc/self/fd/{}", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) return fmt::format("the host part does not load: {}", ::dlerror());
  run_ = reinterpret_cast<Run>(::dlsym(loaded, kHostFunction));
  if (run_ == nullptr) return fmt::format("the host part does not define `{}`", kHostFunction);
  return std::nullopt;
}

void HostCode::use_module(std::uint64_t module) {
  module_ = module;
  kernels_.clear();
}

std::optional<HostCode::Failure> HostCode::run(const HostArguments& arguments) {
  fault_.clear();
  writable_ = arguments.writable;
  const int status =
      run_(&table_, arguments.sizes, arguments.inputs.data(), arguments.outputs.data(), arguments.scratch.data());
  if (status == 0) return std::nullopt;
  return Failure{status, fmt::format("the host part's `{}` returned {}{}{}", kHostFunction, status,
                                     fault_.empty() ? "" : ": ", fault_)};
}

int HostCode::fail(DriverStatus status, std::string text) {
  fault_ = std::move(text);
  return status;
}

int HostCode::launch(const LaunchShape& shape, void** parameters) {
  const std::string name = shape.kernel.substr(0, kShownName);
  if (const auto fault = shape_fault(shape, limits_)) {
    return fail(kInvalidValue, fmt::format("launch of '{}': {}", name, *fault));
  }
  auto known = kernels_.find(shape.kernel);
  if (known == kernels_.end() || known->second.shared_bytes < shape.shared_bytes) {
    Kernel kernel{0, shape.shared_bytes};
    if (const DriverStatus fault = driver_.function(module_, shape.kernel, shape.shared_bytes, kernel.function)) {
      return fail(fault, fmt::format("launch of '{}': {}; is it `extern \"C\" __global__` in the device part?", name,
                                     driver_.text_of(fault)));
    }
    known = kernels_.insert_or_assign(shape.kernel, kernel).first;
  }
  const DriverStatus fault = driver_.launch(known->second.function, shape, parameters);
  return fault == 0 ? 0 : fail(fault, fmt::format("launch of '{}': {}", name, driver_.text_of(fault)));
}

int HostCode::tensor_map(void* map, const TensorMapSpec& spec) {
  if (reinterpret_cast<std::uintptr_t>(map) % kMapAlignment != 0) {
    return fail(kInvalidValue, fmt::format("tensor_map: the map is not aligned to {} bytes", kMapAlignment));
  }
  const DriverStatus fault = driver_.tensor_map(map, spec);
  return fault == 0 ? 0 : fail(fault, "tensor_map: " + driver_.text_of(fault));
}

int HostCode::zero(DevicePointer address, std::size_t bytes) {
  const bool inside = std::any_of(writable_.begin(), writable_.end(), [&](const HostArguments::Range& range) {
    return address >= range.begin && bytes <= range.bytes && address - range.begin <= range.bytes - bytes;
  });
  if (!inside) return fail(kInvalidValue, "zero: not within one output or scratch");
  const DriverStatus fault = driver_.fill(address, 0, bytes);
  return fault == 0 ? 0 : fail(fault, "zero: " + driver_.text_of(fault));
}

}  // namespace kc
