#include "cuda/cuda_device.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "base/interrupt.h"
#include "cuda/gpu_messages.h"
#include "cuda/gpu_session.h"
#include "measure/host_environment.h"
#include "measure/statistics.h"

namespace kc {
namespace {

// Candidates that are compiled together, then timed on one secret draw of inputs.
constexpr std::size_t kSessionSize = 16;

using OnResult = std::function<void(std::size_t, const Measurement&)>;

class CudaMeasurer : public Measurer {
 public:
  CudaMeasurer(const CudaOptions& options, std::uint64_t input_seed, CudaBackend backend)
      : options_(options),
        environment_(make_compile_environment(options.host, folder_)),
        compiler_(options.compile, options.host),
        backend_(std::move(backend)),
        limits_(sm_limits(backend_.description)),
        rng_(input_seed) {
    base_.run_id = random_run_id();
    base_.processor = backend_.description.name;
    base_.device = options.device.empty() ? backend_.description.name : options.device;
    base_.compiler = compiler_.version();
    base_.harness_version = kCudaHarnessVersion;
    base_.started_at = utc_now();
    const CudaBinary instruments = compiler_.compile({"instruments.cu", instrument_source(), limits_.arch(), {}});
    if (!instruments.ok) throw Error(ErrorKind::environment, "NVRTC does not compile our kernels:\n" + instruments.log);
    instruments_ = instruments.cubin;
  }

  std::vector<Measurement> measure(std::span<const MeasureRequest> requests, const OnResult& on_result,
                                   std::stop_token stop) override {
    std::vector<Measurement> results(requests.size());
    for (std::size_t first = 0; first < requests.size();) {
      std::size_t end = first + 1;
      while (end < requests.size() && end - first < kSessionSize && requests[end].task == requests[first].task) ++end;
      const auto tell = [&](std::size_t i) {
        if (on_result) on_result(first + i, results[first + i]);
      };
      run_session(requests.subspan(first, end - first), std::span(results).subspan(first, end - first), tell, stop);
      first = end;
    }
    return results;
  }

  Provenance provenance(const TaskPack& task) const override {
    Provenance provenance = base_;
    provenance.compiler_flags =
        cuda_flags_text(limits_.arch(), task.cuda ? task.cuda->options : std::vector<std::string>{});
    provenance.noise_floor = noise_.empty() ? 0 : median_of(noise_);
    return provenance;
  }

 private:
  GpuTask& task_of(const TaskPack& pack, const std::stop_token& stop) {
    const auto known = tasks_.find(&pack);
    if (known != tasks_.end()) return known->second;
    if (pack.seed.language != "cuda") {
      throw Error(ErrorKind::internal, fmt::format("task {}: not the pack of the device cuda", pack.name));
    }
    GpuTask task{&pack, folder_.path() / fmt::format("task-{}", tasks_.size()), {}};
    const auto reference = compile_all(environment_, {reference_job(pack, task.reference_folder)}, stop);
    if (!reference[0].ok) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("task {}: the reference does not compile:\n{}", pack.name, reference[0].log));
    }
    task.seed = compile_candidate(compiler_, pack, {pack.seed_name, pack.seed, true, ""}, limits_, stop);
    if (!task.seed.ok) {
      throw Error(ErrorKind::bad_data,
                  fmt::format("task {}: the seed does not compile:\n{}", pack.name, task.seed.log));
    }
    return tasks_.emplace(&pack, std::move(task)).first->second;
  }

  void run_session(std::span<const MeasureRequest> requests, std::span<Measurement> results,
                   const std::function<void(std::size_t)>& on_result, const std::stop_token& stop) {
    const TaskPack& pack = *requests[0].task;
    GpuTask& task = task_of(pack, stop);
    std::vector<Candidate> candidates;
    for (const MeasureRequest& request : requests) candidates.push_back(request.candidate);
    const std::vector<CompiledCandidate> compiled = compile_candidates(compiler_, pack, candidates, limits_, stop);
    const DeviceLock lock(stop);
    GpuSession session(options_, environment_, task, instruments_, backend_, rng_.child(sessions_++), stop);
    noise_.push_back(session.measure_noise());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      throw_if_stopped(stop);
      if (compiled[i].ok) {
        results[i] = session.measure(compiled[i]);
      } else {
        results[i].status = MeasurementStatus::compile_error;
        results[i].log = compiled[i].log;
      }
      describe(requests[i], compiled[i], results[i]);
      on_result(i);
    }
  }

  void describe(const MeasureRequest& request, const CompiledCandidate& compiled, Measurement& result) {
    result.task = request.task->name;
    result.kernel = request.candidate.kernel;
    result.kernel_name = request.candidate.name;
    result.is_seed = request.candidate.is_seed;
    result.provenance = provenance(*request.task);
    for (const auto& [name, value] : facts_of(compiled, limits_)) result.facts[name] = value;
    if (!backend_.monitor) return;
    const GpuHealth health = backend_.monitor->read(options_.index);
    if (health.temperature_c) result.facts["temperature_c"] = *health.temperature_c;
    if (health.power_w) result.facts["power_w"] = *health.power_w;
  }

  CudaOptions options_;
  TemporaryFolder folder_;
  CompileEnvironment environment_;
  CudaCompiler compiler_;
  CudaBackend backend_;
  SmLimits limits_;
  RngStream rng_;
  Provenance base_;
  std::string instruments_;
  std::map<const TaskPack*, GpuTask> tasks_;
  std::vector<double> noise_;
  std::uint64_t sessions_ = 0;
};

}  // namespace

SmLimits sm_limits(const GpuDevice& device) {
  Hardware hardware;
  hardware.device = device.name;
  hardware.compute_capability = fmt::format("{}.{}", device.major, device.minor);
  hardware.multiprocessors = device.multiprocessors;
  hardware.max_threads_per_multiprocessor = device.threads_per_multiprocessor;
  SmLimits limits = sm_limits(hardware);
  if (device.shared_bytes_per_block > 0) {
    limits.block_shared_bytes = static_cast<std::size_t>(device.shared_bytes_per_block);
  }
  return limits;
}

CudaBackend make_cuda_backend(int index, const std::string& sandbox) {
  CudaBackend backend;
  const std::unique_ptr<Driver> driver = load_driver();
  int count = 0;
  if (const DriverStatus fault = driver->count_devices(count)) {
    throw Error(ErrorKind::environment, driver->text_of(fault));
  }
  if (index < 0 || index >= count) {
    throw Error(ErrorKind::environment, fmt::format("no CUDA device {}: the driver sees {}", index, count));
  }
  if (const DriverStatus fault = driver->describe(index, backend.description)) {
    throw Error(ErrorKind::environment, driver->text_of(fault));
  }
  backend.start = [index, sandbox] { return start_gpu_process(index, sandbox); };
  std::string why;
  backend.monitor = load_nvml(why);
  return backend;
}

std::unique_ptr<Measurer> make_cuda_measurer(const CudaOptions& options, std::uint64_t input_seed,
                                             CudaBackend backend) {
  return std::make_unique<CudaMeasurer>(options, input_seed, std::move(backend));
}

std::unique_ptr<Measurer> make_cuda_measurer(const CudaOptions& options, std::uint64_t input_seed) {
  return make_cuda_measurer(options, input_seed, make_cuda_backend(options.index, options.host.sandbox));
}

}  // namespace kc
