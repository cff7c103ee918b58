#include "tests/dataset/examples.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include <fmt/format.h>

#include "base/hash.h"
#include "tests/support/python.h"

namespace kc::examples {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "kc-dataset-XXXXXX").string();
  path_ = ::mkdtemp(pattern.data());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Measurement measurement(const std::string& task, const std::string& source, double log2_speedup) {
  Measurement m;
  m.task = task;
  m.kernel = {"cpp", sha256_hex(source), source, {}};
  m.kernel_name = task + "/kernel.cpp";
  for (const char* name : {"small", "large"}) {
    CaseTiming timing;
    timing.name = name;
    timing.work = 4;
    for (int round = 0; round < 5; ++round) {
      const double wobble = 1000 * (1 + 0.01 * ((round * 7) % 5));
      timing.reference_ns.push_back(static_cast<float>(wobble));
      timing.candidate_ns.push_back(static_cast<float>(wobble / std::exp2(log2_speedup)));
    }
    m.cases.push_back(timing);
  }
  m.provenance = {"run-1", "host", "a processor", "g++ 12.2", "-O3", "1", "2026-01-01T00:00:00Z", "", 0.004};
  return m;
}

Store spread_store(int tasks, int kernels) {
  Store store;
  for (int t = 0; t < tasks; ++t) {
    for (int k = 0; k < kernels; ++k) {
      const double log2_speedup = -3 + 6.0 * k / (kernels - 1);
      store.measurements.push_back(
          measurement(fmt::format("task{}", t), fmt::format("void f{}_{}();", t, k), log2_speedup));
      store.measurements.back().is_seed = k == 0;
    }
  }
  return store;
}

bool has_h5py() {
  static const bool found = test::python_can("import h5py");
  return found;
}

std::string run_h5py(const std::string& script, const std::string& arguments) {
  const TemporaryFolder folder;
  std::ofstream(folder / "script.py") << script;
  const std::string command = test::python() + " " + (folder / "script.py").string() + " " + arguments + " 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  std::string output;
  std::array<char, 4096> chunk{};
  while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), pipe)) output.append(chunk.data(), n);
  EXPECT_EQ(::pclose(pipe), 0) << output;
  return output;
}

}  // namespace kc::examples
