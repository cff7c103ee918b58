#pragma once
// Runs one of our programs as a user would and keeps what it printed.
#include <cstdint>
#include <string>
#include <vector>

namespace kc::test {

struct ProgramResult {
  int exit_code = -1;  // 128 + signal when killed
  std::string out;
  std::string err;
};

// `program` is a name in build/bin. `kill_after_s` > 0 sends `kill_signal` then.
struct ProgramCall {
  std::string program;
  std::vector<std::string> arguments;
  double kill_after_s = 0;
  int kill_signal = 9;
  std::int64_t file_size_limit = 0;  // bytes that a file it writes may have (RLIMIT_FSIZE); 0: no limit
};
ProgramResult run_program(const ProgramCall& call);

}  // namespace kc::test
