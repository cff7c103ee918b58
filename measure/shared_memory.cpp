#include "measure/shared_memory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

namespace kc {
namespace {

constexpr int kHighFd = 16;  // above the descriptors that a runner gets

}  // namespace

SharedMemory::SharedMemory(const char* name, std::size_t bytes) : bytes_(bytes), memory_(MAP_FAILED) {
  const Descriptor fd(::memfd_create(name, MFD_CLOEXEC));
  fd_ = Descriptor(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kHighFd));
  if (fd_ && ::ftruncate(fd_.get(), static_cast<off_t>(bytes)) == 0) {
    memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_.get(), 0);
  }
  if (memory_ == MAP_FAILED) {
    throw Error(ErrorKind::environment,
                fmt::format("no {} bytes of shared memory (memory, or a limit of file sizes)", bytes));
  }
}

SharedMemory::~SharedMemory() { ::munmap(memory_, bytes_); }

Descriptor SharedMemory::read_only() const {
  const Descriptor fd(::open(fmt::format("/proc/self/fd/{}", fd_.get()).c_str(), O_RDONLY | O_CLOEXEC));
  Descriptor high(::fcntl(fd.get(), F_DUPFD_CLOEXEC, kHighFd));
  if (!high) throw Error(ErrorKind::environment, "cannot open shared memory read-only: is /proc mounted?");
  return high;
}

}  // namespace kc
