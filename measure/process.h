#pragma once
// Processes in groups of their own, and the folder for what they write.
#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace kc {

// A process group that never outlives this object: the destructor kills and reaps it.
class ProcessGroup {
 public:
  ProcessGroup() = default;
  explicit ProcessGroup(pid_t pid) : pid_(pid) {}
  ~ProcessGroup() { kill(); }
  ProcessGroup(ProcessGroup&& other) noexcept : pid_(std::exchange(other.pid_, 0)), status_(other.status_) {}
  ProcessGroup& operator=(ProcessGroup&& other) noexcept;

  pid_t pid() const { return pid_; }
  // Whether the leader has ended; then the rest of the group is killed, and status() is what waitpid reported.
  bool has_ended();
  // Whether a signal holds the leader at the moment (SIGSTOP); about a microsecond.
  bool is_stopped() const;
  int status() const { return status_; }
  void kill();  // SIGKILL to the group; waits for the leader

 private:
  pid_t pid_ = 0;  // 0: none, or reaped
  int status_ = 0;
};

struct SpawnSpec {
  std::vector<std::string> arguments;    // the first is an absolute path
  std::vector<std::string> environment;  // NAME=value, nothing else
  std::vector<std::pair<int, int>> fds;  // {own descriptor, the child's}; 0 to 2 are /dev/null otherwise
  std::filesystem::path folder;          // working directory; empty: as here
  bool same_addresses = false;           // equal programs lie at equal addresses
};
// Error{environment} when the program cannot be started.
ProcessGroup spawn(const SpawnSpec& spec);

// "SIGSEGV (Segmentation fault)", "exit status 3".
std::string describe_end(int status);

// A folder below the system's temporary folder, removed by the destructor. Folders that a killed harness left are
// removed on the way. Error{environment} when it cannot be made.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  // Whether a user without rights may pass through all folders above.
  bool is_reachable_by_others() const;

 private:
  std::filesystem::path path_;
};

// A file descriptor that is closed.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

// Writes a small file; Error{environment} names the path and the cause (a full disk above all).
void write_plain_file(const std::filesystem::path& path, const std::string& text);
// Error{environment} when less than `bytes` are free there.
void require_free_space(const std::filesystem::path& folder, std::uint64_t bytes);

// Absolute path of a program by PATH. Error{environment} when there is none.
std::filesystem::path find_program(const std::string& name);
// The program kernelcast-runner: beside the running program, or where KERNELCAST_RUNNER points. Error{environment}.
std::filesystem::path find_runner();

}  // namespace kc
