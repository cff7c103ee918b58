#pragma once
// A candidate's host part inside its runner: loaded from bytes, called for each launch of a turn, with the driver
// behind a table of functions (cuda/host_table.h).
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cuda/contract.h"
#include "cuda/driver.h"
#include "cuda/host_table.h"

namespace kc {

// The arguments of one call of `run`. Pointers are the device's.
struct HostArguments {
  struct Range {
    DevicePointer begin = 0;
    std::size_t bytes = 0;
  };
  const std::int64_t* sizes = nullptr;  // of the case
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  std::vector<void*> scratch;
  std::vector<Range> writable;  // outputs and scratch
};

class HostCode {
 public:
  struct Failure {
    int status = 0;  // what `run` returned
    std::string text;
  };

  // `driver` is open; it and the candidate's module must be there while `run` is called.
  HostCode(Driver& driver, const DeviceLimits& limits);
  HostCode(const HostCode&) = delete;
  HostCode& operator=(const HostCode&) = delete;

  // Loads the library, which runs its constructors: isolation is to be entered before. Why it does not load, or
  // nothing.
  std::optional<std::string> load(const std::string& library);
  void use_module(std::uint64_t module);  // whose kernels it launches from here on
  std::optional<Failure> run(const HostArguments& arguments);

 private:
  struct Table : KernelcastHost {
    HostCode* owner = nullptr;
  };
  using Run = int (*)(const KernelcastHost*, const void* sizes, const void* const* inputs, void* const* outputs,
                      void* const* scratch);
  struct Kernel {
    std::uint64_t function = 0;
    unsigned shared_bytes = 0;  // that it was allowed
  };

  static HostCode& owner_of(const KernelcastHost* host) { return *static_cast<const Table*>(host)->owner; }
  int fail(DriverStatus status, std::string text);
  int launch(const LaunchShape& shape, void** parameters);
  int tensor_map(void* map, const TensorMapSpec& spec);
  int zero(DevicePointer address, std::size_t bytes);

  Driver& driver_;
  DeviceLimits limits_;
  Table table_;
  Run run_ = nullptr;
  std::uint64_t module_ = 0;
  std::map<std::string, Kernel> kernels_;  // by name
  std::vector<HostArguments::Range> writable_;
  std::string fault_;  // of the last call that failed in this `run`
};

}  // namespace kc
