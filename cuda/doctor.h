#pragma once
// What a machine offers to measuring on a GPU, and what it lacks: the lines of `measure doctor --device cuda`.
#include <stop_token>
#include <vector>

#include "cuda/cuda_device.h"
#include "measure/doctor.h"

namespace kc {

// Headers, NVRTC, the compile worker's isolation and latency, the runner's isolation; then driver, devices, clocks,
// persistence mode, other processes, L2 size, the resolution of events and the cost of a turn. Where there is no driver
// the last ones are not there. Blocks for some seconds. Never throws for what is missing; Error{interrupted}.
std::vector<DoctorLine> cuda_doctor(const CudaOptions& options, const std::stop_token& stop = {});

// The part that needs a device, on a driver and a monitor (which may be empty).
std::vector<DoctorLine> gpu_doctor(Driver& driver, GpuMonitor* monitor, int index, const std::string& instruments);

}  // namespace kc
