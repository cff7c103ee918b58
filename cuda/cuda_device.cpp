#include "cuda/cuda_device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cuda/gpu_lock.h"
#include "cuda/gpu_messages.h"
#include "cuda/gpu_session.h"
#include "measure/ahead.h"
#include "measure/compile_ahead.h"
#include "measure/host_environment.h"
#include "measure/session_ranges.h"
#include "measure/statistics.h"

namespace kc {
namespace {

using Compiling = Ahead<std::vector<CompiledCandidate>>;

class CudaMeasurer : public Measurer {
 public:
  CudaMeasurer(const CudaOptions& options, std::uint64_t input_seed, CudaBackend backend)
      : options_(options),
        environment_(make_compile_environment(options.host, folder_)),
        compiler_(options.compile, options.host),
        backend_(std::move(backend)),
        limits_(sm_limits(backend_.description)),
        rng_(input_seed),
        spare_cores_(spare_cores(options.host.cores > 0 ? static_cast<int>(options.host.cores) : usable_cores(), 1)) {
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
    const auto sessions = split_into_sessions(requests);
    std::unique_ptr<Compiling> next;
    for (std::size_t s = 0; s < sessions.size(); ++s) {
      const auto first = static_cast<std::size_t>(sessions[s].data() - requests.data());
      GpuTask& task = task_of(*sessions[s][0].task, stop);
      if (!next) next = compile(sessions[s], false);
      const std::vector<CompiledCandidate> compiled = std::exchange(next, nullptr)->result(stop);
      if (spare_cores_ > 0 && s + 1 < sessions.size()) next = compile(sessions[s + 1], true);
      const OnResult report = [&](std::size_t i, const Measurement& measurement) {
        results[first + i] = measurement;
        if (on_result) on_result(first + i, measurement);
      };
      run_session(task, sessions[s], compiled, report, stop);
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

  // With fewer spare cores than the compiler has workers, one candidate after another.
  std::unique_ptr<Compiling> compile(std::span<const MeasureRequest> requests, bool ahead) {
    const std::size_t at_a_time = ahead && spare_cores_ < options_.compile.jobs ? 1 : requests.size();
    const auto work = [this, requests, at_a_time](const std::stop_token& stop) {
      std::vector<CompiledCandidate> compiled;
      for (std::size_t first = 0; first < requests.size(); first += at_a_time) {
        std::vector<Candidate> candidates;
        for (const MeasureRequest& request : requests.subspan(first, at_a_time))
          candidates.push_back(request.candidate);
        for (auto& one : compile_candidates(compiler_, *requests[0].task, candidates, limits_, stop)) {
          compiled.push_back(std::move(one));
        }
      }
      return compiled;
    };
    return std::make_unique<Compiling>(work, ahead);
  }

  // The CPU computes references and checks: beside the sessions of other GPUs, but not beside what times the CPU
  // itself.
  void run_session(GpuTask& task, std::span<const MeasureRequest> requests,
                   const std::vector<CompiledCandidate>& compiled, const OnResult& on_result,
                   const std::stop_token& stop) {
    const GpuLock gpu(backend_.description.uuid, stop);
    const DeviceLock machine(stop, MachineUse::beside_others);
    GpuSession session(options_, environment_, task, instruments_, backend_, rng_.child(sessions_++), stop);
    warn_of(session.others());
    noise_.push_back(session.measure_noise());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      throw_if_stopped(stop);
      Measurement result;
      if (compiled[i].ok) {
        result = session.measure(compiled[i]);
      } else {
        result.status = MeasurementStatus::compile_error;
        result.log = compiled[i].log;
      }
      describe(requests[i], compiled[i], result);
      on_result(i, result);
    }
  }

  // Whatever shares the device shares caches, memory and clocks with what is timed; nobody can tell how much.
  void warn_of(const std::vector<unsigned>& others) {
    if (others.empty() || std::exchange(warned_of_others_, true)) return;
    log::warning(fmt::format("other processes use the GPU ({}): labels made beside them carry the fact other_processes",
                             fmt::join(others, ", ")));
  }

  void describe(const MeasureRequest& request, const CompiledCandidate& compiled, Measurement& result) {
    identify(result, request, provenance(*request.task));
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
  int spare_cores_;  // beside the harness's and that of the runner, whose driver spins
  Provenance base_;
  std::string instruments_;
  std::map<const TaskPack*, GpuTask> tasks_;
  std::vector<double> noise_;
  std::uint64_t sessions_ = 0;
  bool warned_of_others_ = false;
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
  backend.monitor = load_nvml(why, backend.description.uuid);
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
