#include "tests/support/program.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/atomic_file.h"

namespace kc::test {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void run_child(const ProgramCall& call, const fs::path& out, const fs::path& err) {
  if (std::freopen(out.c_str(), "w", stdout) == nullptr || std::freopen(err.c_str(), "w", stderr) == nullptr)
    std::_Exit(126);
  if (call.file_size_limit > 0) {
    const rlimit limit{static_cast<rlim_t>(call.file_size_limit), static_cast<rlim_t>(call.file_size_limit)};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  const std::string path = std::string(KC_BIN_DIR) + "/" + call.program;
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (const std::string& argument : call.arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  execv(path.c_str(), argv.data());
  std::_Exit(127);
}

int wait_for(pid_t child, const ProgramCall& call) {
  int status = 0;
  if (call.kill_after_s > 0) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(call.kill_after_s);
    while (waitpid(child, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() >= deadline) {
        kill(child, call.kill_signal);
        waitpid(child, &status, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  } else {
    waitpid(child, &status, 0);
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

ProgramResult run_program(const ProgramCall& call) {
  std::string name = (fs::temp_directory_path() / "kc-program-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return {};
  const fs::path folder = name;
  const pid_t child = fork();
  if (child == 0) run_child(call, folder / "out", folder / "err");
  ProgramResult result;
  result.exit_code = wait_for(child, call);
  result.out = read_file(folder / "out");
  result.err = read_file(folder / "err");
  fs::remove_all(folder);
  return result;
}

}  // namespace kc::test
