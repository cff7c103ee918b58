#include "measure/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/personality.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/error.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolderPrefix = "kernelcast-";

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

void remove_leftovers(const fs::path& root) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(root, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kFolderPrefix)) continue;
    pid_t owner = 0;
    const char* digits = name.c_str() + std::strlen(kFolderPrefix);
    const auto [end, fault] = std::from_chars(digits, name.c_str() + name.size(), owner);
    if (fault != std::errc() || *end != '-' || ::kill(owner, 0) == 0 || errno != ESRCH) continue;
    fs::remove_all(entry.path(), ignored);
  }
}

// The child inherits the personality of the thread that starts it.
class FixedAddresses {
 public:
  explicit FixedAddresses(bool wanted) : before_(wanted ? ::personality(kQuery) : -1) {
    if (before_ >= 0) ::personality(static_cast<unsigned long>(before_) | ADDR_NO_RANDOMIZE);
  }
  ~FixedAddresses() {
    if (before_ >= 0) ::personality(static_cast<unsigned long>(before_));
  }
  FixedAddresses(const FixedAddresses&) = delete;
  FixedAddresses& operator=(const FixedAddresses&) = delete;

 private:
  static constexpr unsigned long kQuery = 0xffffffff;
  int before_;
};

[[noreturn]] void throw_write_error(const fs::path& path, int code) {
  throw Error(ErrorKind::environment,
              fmt::format("{}: cannot write: {}; free some space there, or choose another folder with TMPDIR",
                          path.string(), std::strerror(code)));
}

}  // namespace

ProcessGroup& ProcessGroup::operator=(ProcessGroup&& other) noexcept {
  kill();
  pid_ = std::exchange(other.pid_, 0);
  status_ = other.status_;
  return *this;
}

bool ProcessGroup::is_stopped() const {
  siginfo_t info{};  // left with the system, for the next one who asks
  return pid_ != 0 && ::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid != 0;
}

bool ProcessGroup::has_ended() {
  if (pid_ == 0) return true;
  // Not reaped before the group is killed: until then no other process can get this group's number.
  siginfo_t info = {};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0)
    return false;
  kill();
  return true;
}

void ProcessGroup::kill() {
  if (pid_ == 0) return;
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
  }
  pid_ = 0;
}

ProcessGroup spawn(const SpawnSpec& spec) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {0, 1, 2}) posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  for (const auto& [own, childs] : spec.fds) posix_spawn_file_actions_adddup2(&actions, own, childs);
  if (!spec.folder.empty()) posix_spawn_file_actions_addchdir_np(&actions, spec.folder.c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  sigfillset(&signals);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  pid_t pid = 0;
  const FixedAddresses fixed(spec.same_addresses);
  const int code = posix_spawn(&pid, spec.arguments[0].c_str(), &actions, &attributes, pointers(spec.arguments).data(),
                               pointers(spec.environment).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (code == 0) return ProcessGroup(pid);
  throw Error(ErrorKind::environment, fmt::format("cannot start {}: {}", spec.arguments[0], std::strerror(code)));
}

std::string describe_end(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("exit status {}", WEXITSTATUS(status));
  const int number = WTERMSIG(status);
  const char* name = sigabbrev_np(number);
  return fmt::format("SIG{} ({})", name != nullptr ? name : "?", sigdescr_np(number) ? sigdescr_np(number) : "unknown");
}

TemporaryFolder::TemporaryFolder() {
  std::error_code fault;
  const fs::path root = fs::temp_directory_path(fault);
  if (fault) throw Error(ErrorKind::environment, fmt::format("no temporary folder: {}; set TMPDIR", fault.message()));
  remove_leftovers(root);
  std::string name = (root / fmt::format("{}{}-XXXXXX", kFolderPrefix, getpid())).string();
  if (mkdtemp(name.data()) == nullptr) throw_write_error(name, errno);
  path_ = name;
  fs::permissions(path_, fs::perms::owner_all | fs::perms::group_exec | fs::perms::others_exec);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

bool TemporaryFolder::is_reachable_by_others() const {
  for (fs::path folder = path_;; folder = folder.parent_path()) {
    std::error_code fault;
    const fs::perms perms = fs::status(folder, fault).permissions();
    if (fault || (perms & fs::perms::others_exec) == fs::perms::none) return false;
    if (folder == folder.root_path()) return true;
  }
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void write_plain_file(const fs::path& path, const std::string& text) {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) throw_write_error(path, errno);
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(file.get(), text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) throw_write_error(path, errno);
    if (count > 0) written += static_cast<std::size_t>(count);
  }
}

void require_free_space(const fs::path& folder, std::uint64_t bytes) {
  struct statvfs info = {};
  if (::statvfs(folder.c_str(), &info) != 0) throw_write_error(folder, errno);
  if (std::uint64_t{info.f_bavail} * info.f_frsize < bytes || (info.f_files > 0 && info.f_favail < 16)) {
    throw_write_error(folder, ENOSPC);
  }
}

fs::path find_program(const std::string& name) {
  // Folders may be "executed", too: an empty name would be the first folder of PATH.
  const auto is_program = [](const fs::path& file) {
    std::error_code ignored;
    return fs::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos && is_program(name)) return fs::absolute(name);
  const char* path = std::getenv("PATH");
  std::string rest = path != nullptr ? path : "/usr/bin:/bin";
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    const fs::path candidate = fs::path(rest.substr(0, end)) / name;
    if (is_program(candidate)) return fs::absolute(candidate);
    rest = end == std::string::npos ? "" : rest.substr(end + 1);
  }
  throw Error(ErrorKind::environment,
              fmt::format("the program '{}' is not on PATH; install it, or set measure.compiler", name));
}

fs::path find_runner() {
  const char* chosen = std::getenv("KERNELCAST_RUNNER");
  std::error_code fault;
  const fs::path runner = chosen != nullptr
                              ? fs::path(chosen)
                              : fs::read_symlink("/proc/self/exe", fault).parent_path() / "kernelcast-runner";
  if (::access(runner.c_str(), X_OK) == 0) return runner;
  throw Error(ErrorKind::environment, fmt::format("{} is missing: it is built with the programs and stays beside them; "
                                                  "or set KERNELCAST_RUNNER",
                                                  runner.string()));
}

}  // namespace kc
