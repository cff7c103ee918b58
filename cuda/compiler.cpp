#include "cuda/compiler.h"

#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "base/hash.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "cuda/compile_cache.h"
#include "cuda/leading_headers.h"
#include "cuda/nvrtc_worker.h"
#include "measure/compile.h"

namespace kc {
namespace {

constexpr int kCompilation = 6;  // NVRTC_ERROR_COMPILATION
constexpr std::size_t kMemoryCacheBytes = std::size_t{256} << 20;
constexpr int kStartAttempts = 3;
constexpr int kReplaceAfter = 2000;  // compilations: what a worker's heap has gathered goes with it

std::vector<std::string> fixed_options(const std::string& arch) {
  return {"-std=c++17", "-arch=" + arch, "-DNDEBUG", "-Xptxas", "-v"};
}

// Errors first: a page of warnings must not hide them.
std::string excerpt(std::string log) {
  if (log.size() > kLogExcerpt) {
    const std::size_t error = log.find("error:");
    const std::size_t start = error == std::string::npos ? 0 : log.rfind('\n', error) + 1;
    log = log.substr(start, kLogExcerpt);
  }
  for (char& c : log) {
    if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') c = '?';
  }
  return log;
}

}  // namespace

std::string cuda_flags_text(const std::string& arch, const std::vector<std::string>& options) {
  std::vector<std::string> all = fixed_options(arch);
  all.insert(all.end(), options.begin(), options.end());
  return fmt::format("{}", fmt::join(all, " "));
}

struct CudaCompiler::Impl {
  Impl(const CudaCompileOptions& given, const HostOptions& host)
      : options(given),
        host_options(host),
        toolkit(find_cuda_toolkit(given.toolkit)),
        headers(toolkit.includes),
        cache(given.cache, kMemoryCacheBytes, static_cast<std::uintmax_t>(given.cache_limit_mb) << 20) {}

  struct Slot {
    std::unique_ptr<NvrtcWorker> worker;
    int compiled = 0;
  };

  // An idle worker, or leave to start one; blocks while all are busy.
  Slot take_slot() {
    std::unique_lock lock(mutex);
    idle_changed.wait(lock, [&] { return !idle.empty() || busy < options.jobs; });
    ++busy;
    if (idle.empty()) return {};
    Slot slot = std::move(idle.back());
    idle.pop_back();
    return slot;
  }

  void give_back(Slot slot) {
    const std::scoped_lock lock(mutex);
    --busy;
    if (slot.worker && slot.compiled < kReplaceAfter) idle.push_back(std::move(slot));
    idle_changed.notify_one();
  }

  void start(Slot& slot) {
    for (int attempt = 1; !slot.worker; ++attempt) {
      try {
        slot.worker = std::make_unique<NvrtcWorker>(toolkit, options);
      } catch (const WorkerKilled&) {
        if (attempt == kStartAttempts) throw;
      }
    }
    const std::scoped_lock lock(mutex);
    if (!version.empty()) return;
    version = slot.worker->version();
    missing = slot.worker->missing();
    keeps_headers = slot.worker->keeps_headers();
    const auto pieces = pieces_of(missing);
    if (pieces.empty() || options.sandbox == "off") return;
    const std::string text = fmt::format("the CUDA compiler runs without {}", fmt::join(pieces, ", "));
    if (options.sandbox == "require") {
      slot.worker.reset();
      throw Error(ErrorKind::environment, text + "; `sandbox: require` asks for all of it");
    }
    log::warning(text);
  }

  static std::vector<std::string> pieces_of(unsigned bits) {
    std::vector<std::string> pieces;
    if ((bits & nvrtc::kNoLandlock) != 0) pieces.emplace_back("Landlock (files of this machine can be read)");
    if ((bits & nvrtc::kNoSystemCallFilter) != 0) pieces.emplace_back("a system call filter");
    if ((bits & nvrtc::kNoUser) != 0) pieces.emplace_back("a user of its own (the toolkit is readable by root only)");
    return pieces;
  }

  // Runs `use` with a worker, which goes back afterwards; dead ones do not.
  template <class F>
  auto with_worker(const F& use) {
    Slot slot = take_slot();
    try {
      if (slot.worker && slot.worker->has_ended()) slot = {};  // died while it was idle
      if (!slot.worker) start(slot);
      auto result = use(slot);
      give_back(std::move(slot));
      return result;
    } catch (...) {
      give_back({});
      throw;
    }
  }

  const std::string& known_version() {
    {
      const std::scoped_lock lock(mutex);
      if (!version.empty()) return version;
    }
    with_worker([](Slot&) { return 0; });
    return version;
  }

  std::string key_of(const CudaSource& source) {
    std::string text = fmt::format("{}\n{}\n{}\n", known_version(), toolkit.root.string(), source.file);
    text += fmt::format("{}\n{}\n", cuda_flags_text(source.arch, source.options), fmt::join(source.instances, " "));
    return sha256_hex(text + source.unit);
  }

  CachedCompilation run(const CudaSource& source, bool& on_disk, const std::stop_token& stop) {
    Fields request = {source.file, source.unit};
    for (const std::string& option : fixed_options(source.arch)) request.push_back(option);
    for (const auto& folder : toolkit.includes) request.push_back("-I" + folder.string());
    request.insert(request.end(), source.options.begin(), source.options.end());
    for (const std::string& instance : source.instances) request.push_back(std::string(nvrtc::kInstance) + instance);
    if (keeps_headers) {
      const std::string leading = headers.of(source.unit, source.source_begin);
      if (!leading.empty()) request.push_back(std::string(nvrtc::kHeaders) + leading);
    }
    const auto attempt = [&](bool needs_fresh) {
      return with_worker([&](Slot& slot) {
        if (needs_fresh && slot.compiled > 0) {
          slot = {};
          start(slot);
        }
        NvrtcWorker::Answer got = slot.worker->compile(request, stop);
        ++slot.compiled;
        if (!got.alive || got.result == nvrtc::kOutOfMemory) slot.worker.reset();
        return got;
      });
    };
    NvrtcWorker::Answer answer = attempt(false);
    // Somebody else's doing; or the worker was full of what it keeps.
    const bool is_full = answer.alive && answer.result == nvrtc::kOutOfMemory;
    if (answer.killed || is_full) answer = attempt(is_full);
    CachedCompilation result{answer.alive && answer.result == 0, answer.log, answer.cubin};
    if (!answer.alive || (answer.result != 0 && answer.result != kCompilation)) {
      result.log = fmt::format("{}: {}\n{}", source.file, answer.name, answer.log);
    }
    // A limit that was reached says something about this machine's load as well.
    on_disk = answer.alive && (answer.result == 0 || answer.result == kCompilation);
    return result;
  }

  // Made when it is first needed: most tasks have no host code.
  HostPartCompiler& host_compiler() {
    const std::scoped_lock lock(mutex);
    if (!host_parts) host_parts = std::make_unique<HostPartCompiler>(host_options, cache);
    return *host_parts;
  }

  CudaCompileOptions options;
  HostOptions host_options;
  CudaToolkit toolkit;
  LeadingHeaders headers;
  CompileCache cache;
  std::unique_ptr<HostPartCompiler> host_parts;
  std::mutex mutex;
  std::condition_variable idle_changed;
  std::vector<Slot> idle;
  std::int64_t busy = 0;
  std::string version;
  unsigned missing = 0;
  bool keeps_headers = false;
};

CudaCompiler::CudaCompiler(const CudaCompileOptions& options, const HostOptions& host)
    : impl_(std::make_unique<Impl>(options, host)) {
  find_nvrtc_worker();
  if (options.sandbox == "require") impl_->known_version();
}
CudaCompiler::~CudaCompiler() = default;

CudaBinary CudaCompiler::compile(const CudaSource& source, const std::stop_token& stop) {
  throw_if_stopped(stop);
  const std::string key = impl_->key_of(source);
  CudaBinary binary;
  auto compiled = impl_->cache.find(key);
  binary.from_cache = compiled.has_value();
  if (!compiled) {
    bool on_disk = false;
    compiled = impl_->run(source, on_disk, stop);
    impl_->cache.keep(key, *compiled, on_disk);
  }
  const SplitLog log = split_log(compiled->log);
  binary.ok = compiled->ok;
  binary.log = excerpt(log.messages);
  if (!binary.ok) return binary;
  const CubinReading reading = read_cubin(compiled->cubin, log.report);
  binary.facts = reading.facts;
  binary.cubin = std::move(compiled->cubin);
  if (!reading.ok) {
    binary.ok = false;
    binary.log = fmt::format("{}: the compiler's result is no cubin\n", source.file);
  }
  return binary;
}

std::vector<CudaBinary> CudaCompiler::compile_all(std::span<const CudaSource> sources, const std::stop_token& stop) {
  std::vector<CudaBinary> binaries(sources.size());
  std::atomic<std::size_t> next = 0;
  std::exception_ptr fault;
  std::mutex fault_mutex;
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      try {
        binaries[i] = compile(sources[i], stop);
      } catch (...) {
        const std::scoped_lock lock(fault_mutex);
        if (!fault) fault = std::current_exception();
        next = sources.size();
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    const auto count = std::min<std::size_t>(static_cast<std::size_t>(impl_->options.jobs), sources.size());
    for (std::size_t t = 1; t < count; ++t) threads.emplace_back(work);
    work();
  }
  if (fault) std::rethrow_exception(fault);
  return binaries;
}

std::vector<HostPart> CudaCompiler::compile_host_parts(std::span<const CompileJob> jobs, const std::stop_token& stop) {
  return jobs.empty() ? std::vector<HostPart>{} : impl_->host_compiler().compile_all(jobs, stop);
}

std::string CudaCompiler::version() { return impl_->known_version(); }

const CudaToolkit& CudaCompiler::toolkit() const { return impl_->toolkit; }

std::vector<std::string> CudaCompiler::missing_isolation() {
  impl_->known_version();
  return Impl::pieces_of(impl_->missing);
}

bool CudaCompiler::keeps_headers() {
  impl_->known_version();
  return impl_->keeps_headers;
}

}  // namespace kc
