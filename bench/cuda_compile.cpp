// Latency of the warm CUDA compiler on a list of sources, one after another: bench/cuda_compile.py calls it.
//
// cuda_compile compile|extract ARCH < MANIFEST: lines of PATH, a tab, and options between blanks. Prints one JSON
// object a line: {"path", "ok", "ms", "again_ms", "registers", "log"}; `extract` takes the device code out of the file
// first.
#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/atomic_file.h"
#include "base/error.h"
#include "cuda/compiler.h"
#include "cuda/extract.h"

namespace {

double compile(kc::CudaCompiler& compiler, const kc::CudaSource& source, kc::CudaBinary& binary) {
  const auto start = std::chrono::steady_clock::now();
  binary = compiler.compile(source);
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

nlohmann::json measure(kc::CudaCompiler& compiler, const std::string& path, kc::CudaSource source, bool extracts) {
  nlohmann::json result = {{"path", path}, {"ok", false}};
  source.unit = kc::read_file(path);
  if (extracts) {
    const auto device = kc::extract_device_code(source.unit);
    result["extracted"] = device.has_value();
    if (!device) {
      result["log"] = device.error();
      return result;
    }
    source.unit = device->source;
    source.instances = device->instances;
  }
  kc::CudaBinary binary;
  result["ms"] = compile(compiler, source, binary);
  result["ok"] = binary.ok;
  result["kernels"] = binary.facts.kernels.size();
  result["log"] = binary.log.substr(0, 300);
  if (!binary.facts.kernels.empty()) result["registers"] = binary.facts.kernels[0].registers;
  result["again_ms"] = compile(compiler, source, binary);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: cuda_compile compile|extract ARCH < MANIFEST\n", stderr);
    return 2;
  }
  try {
    kc::CudaCompileOptions options;
    options.jobs = 1;
    kc::CudaCompiler compiler(options);
    std::fprintf(stderr, "%s\n", compiler.version().c_str());
    for (std::string line; std::getline(std::cin, line);) {
      const std::size_t tab = line.find('\t');
      kc::CudaSource source{"kernel.cu", "", argv[2], {}};
      std::istringstream words(tab == std::string::npos ? "" : line.substr(tab + 1));
      for (std::string option; words >> option;) source.options.push_back(option);
      std::cout << measure(compiler, line.substr(0, tab), source, std::string(argv[1]) == "extract").dump() << "\n";
    }
  } catch (const kc::Error& e) {
    std::fprintf(stderr, "cuda_compile: %s\n", e.what());
    return kc::exit_code(e.kind());
  }
  return 0;
}
