#pragma once
// Memory that harness and runner share through a descriptor.
#include <cstddef>
#include <span>

#include "measure/process.h"

namespace kc {

class SharedMemory {
 public:
  // Mapped for reading and writing, every page there. Error{environment} when there is not enough.
  SharedMemory(const char* name, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  // Another descriptor of the same memory that cannot be mapped for writing. Error{environment}.
  Descriptor read_only() const;
  int fd() const { return fd_.get(); }
  std::byte* data() const { return static_cast<std::byte*>(memory_); }
  std::span<std::byte> bytes() const { return {data(), bytes_}; }

 private:
  std::size_t bytes_;
  Descriptor fd_;
  void* memory_;
};

}  // namespace kc
