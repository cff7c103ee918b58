#pragma once
// A fresh folder for one test, removed with all it holds when the object goes.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "base/atomic_file.h"

namespace kc::test {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "kernelcast-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder like " + name);
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::filesystem::path& name) const { return path_ / name; }

  // Writes a file, with its folders, and returns its path.
  std::filesystem::path write(const std::filesystem::path& name, std::string_view bytes) const {
    write_file_atomically(path_ / name, bytes);
    return path_ / name;
  }

  // Names in the folder and below, hidden ones too: 0 extra ones means that nothing was left behind.
  std::size_t count() const {
    std::size_t entries = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::recursive_directory_iterator(path_)) ++entries;
    return entries;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace kc::test
