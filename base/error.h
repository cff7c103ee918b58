#pragma once
// The project's one exception root, and the exit codes of every program (docs: README, "Exit codes").
//
// Two channels, never mixed: an outcome that a caller expects (a text that does not parse, a kernel that fails
// to compile) is a value, see expected.h; a broken contract, bad input or failed I/O throws Error.
#include <stdexcept>
#include <string>

namespace kc {

enum class ErrorKind {
  usage,         // wrong command line                                   exit 2
  config,        // unknown, unread, ill-typed or out-of-range key       exit 2
  bad_data,      // a file that is missing, damaged or of another schema exit 3
  environment,   // missing tool, full disk, missing permission          exit 3
  check_failed,  // a check that the user asked for did not pass         exit 1
  interrupted,   // Ctrl-C or SIGTERM; files are valid                   exit 130
  internal,      // a broken contract inside the project: a bug          exit 70
};

int exit_code(ErrorKind kind);

// The message says what, where (file, key, line), what was expected and what to do.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace kc
