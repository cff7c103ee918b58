#include "cuda/host_compiler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "cuda/host_contract.h"
#include "measure/host_environment.h"
#include "measure/machine.h"

namespace kc {

std::optional<std::string> host_fault(const std::string& log) {
  if (log.find(kBeyondOutputLimit) != std::string::npos) {
    return fmt::format("the host part is too large: what it is compiled to is beyond {}", kBeyondOutputLimit);
  }
  if (log.find(fmt::format("required symbol `{}' not defined", kHostFunction)) != std::string::npos) {
    return fmt::format("the host part defines no function `{}` with the prototype `{}`", kHostFunction, kHostPrototype);
  }
  constexpr std::string_view kUndefined = "undefined reference to `";
  const std::size_t found = log.find(kUndefined);
  if (found == std::string::npos) return std::nullopt;
  const std::size_t begin = found + kUndefined.size();
  const std::size_t end = std::min(log.find("'\n", begin), log.size());
  return fmt::format("the host part calls `{}`, which is in no library that it may link",
                     log.substr(begin, end - begin));
}

HostPartCompiler::HostPartCompiler(const HostOptions& options, CompileCache& cache)
    : environment_(make_compile_environment(options, folder_)),
      version_(program_version(environment_.compiler)),
      cache_(cache) {}

std::string HostPartCompiler::key_of(const CompileJob& job) const {
  return sha256_hex(fmt::format("host part\n{}\n{}\n{}\n{}", version_, flags_text(job.flags), job.function, job.unit));
}

HostPart HostPartCompiler::finish(const std::string& key, const CompileJob& job, const CompileResult& result) {
  HostPart part{result.ok, result.log, ""};
  if (part.ok) part.library = read_file(job.folder / kLibraryName);
  std::error_code ignored;
  std::filesystem::remove_all(job.folder, ignored);
  // On disk successes alone: a failure may be this machine's load.
  cache_.keep(key, {part.ok, part.log, part.library}, part.ok);
  return part;
}

std::vector<HostPart> HostPartCompiler::compile_all(std::span<const CompileJob> jobs, const std::stop_token& stop) {
  std::vector<HostPart> parts(jobs.size());
  std::vector<CompileJob> missing;
  std::vector<std::string> keys;
  std::vector<std::size_t> owners;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    std::string key = key_of(jobs[i]);
    if (const auto known = cache_.find(key)) {
      parts[i] = {known->ok, known->log, known->cubin};
      continue;
    }
    missing.push_back(jobs[i]);
    keys.push_back(std::move(key));
    owners.push_back(i);
    const std::scoped_lock lock(mutex_);
    missing.back().folder = folder_.path() / fmt::format("host-{}", folders_++);
  }
  const std::vector<CompileResult> results = kc::compile_all(environment_, missing, stop);
  for (std::size_t m = 0; m < missing.size(); ++m) {
    parts[owners[m]] = finish(keys[m], missing[m], results[m]);
  }
  return parts;
}

}  // namespace kc
