#pragma once
// The devices that programs measure on, by name.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/cuda_device.h"
#include "measure/budget.h"
#include "measure/host_device.h"
#include "measure/measurer.h"

namespace kc {

struct DeviceOptions {
  HostOptions host;
  CudaOptions cuda;
  std::string token;            // of remote devices
  std::filesystem::path known;  // a label store whose rows are not measured again; may not exist
  MeasureBudget budget;
  bool cache = true;
};

inline constexpr const char* kDeviceHelp =
    "host, cuda[:N], replay:FILE.h5[#DEVICE], http://HOST:PORT, or several alike, separated by commas";

// N of cuda:N, 0 of cuda; nothing for another device. Error{usage} for another form.
std::optional<int> cuda_index(const std::string& device);

// The device that `name` opened as, as task packs name it: host or cuda.
std::string kind_of_device(const std::string& name, const Measurer& measurer);

// Whether this machine's programs do the measuring: all of `name` is host or cuda[:N].
bool measures_here(const std::string& name);

// Whether there is a label store, or the journal of one that is being written.
bool is_store(const std::filesystem::path& file);

// Whether a server is `name`, or among its devices.
bool has_server(const std::string& name);

// Whether asking for a kernel again measures it again: all of `name` is host, cuda[:N] or a server.
bool measures_anew(const std::string& name);

// One device, or a pool of those that commas separate; with a cache in front of it, and a budget where one is set.
// Error{usage} for an unknown name, Error{environment} when the device is not there.
std::unique_ptr<Measurer> make_device(const std::string& device, const DeviceOptions& options);

// The token of remote devices: of `file`, else of the environment's KERNELCAST_TOKEN, else empty.
std::string remote_token(const std::string& file);

}  // namespace kc
