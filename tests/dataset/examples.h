#pragma once
// Small made-up stores for the tests of dataset.
#include <filesystem>
#include <string>

#include "dataset/label_store.h"

namespace kc::examples {

// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// An ok measurement whose log2 speedup over its reference is `log2_speedup` in both of its cases.
Measurement measurement(const std::string& task, const std::string& source, double log2_speedup);

// A store of `tasks` x `kernels` ok measurements on device "host", speedups spread evenly over log2 -3 to 3.
Store spread_store(int tasks, int kernels);

// Runs Python with h5py on a script; false when there is no such Python.
bool has_h5py();
// Standard output of `script` run with the arguments (shell words); fails the test when it does not exit with 0.
std::string run_h5py(const std::string& script, const std::string& arguments);

}  // namespace kc::examples
