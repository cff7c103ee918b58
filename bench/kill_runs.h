#pragma once
// `measure label` with its harness, runners and compilers killed at random moments: is any finished label lost?
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kc {

struct KillOptions {
  std::filesystem::path measure;  // the program
  std::filesystem::path python;   // with h5py, to open the file after every kill of the harness; empty: not done
  std::size_t kills = 200;
  double longest_pause_s = 1.5;  // between two kills
  std::uint64_t seed = 1;
};

struct KillReport {
  std::size_t harness_kills = 0, runner_kills = 0, compiler_kills = 0, other_kills = 0;
  std::size_t runs = 0;    // of the program
  std::size_t labels = 0;  // finished at the end, over all files
  std::size_t lost = 0;    // finished labels that a later reading lacked
  std::size_t unreadable = 0;
  std::size_t h5py_opened = 0;
  std::size_t h5py_refused = 0;
  std::size_t left_processes = 0;
  std::size_t left_files = 0;  // temporary ones, after a last undisturbed run
  std::vector<std::string> notes;
  double seconds = 0;
};

// The harness is stopped (SIGSTOP) before each kill of it, so that what it had finished is known exactly.
KillReport run_kills(const KillOptions& options);
std::vector<std::string> faults_of(const KillReport& report);
std::string kill_text(const KillReport& report);

}  // namespace kc
