#include "base/error.h"

namespace kc {

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::check_failed:
      return 1;
    case ErrorKind::usage:
    case ErrorKind::config:
      return 2;
    case ErrorKind::bad_data:
    case ErrorKind::environment:
      return 3;
    case ErrorKind::interrupted:
      return 130;
    case ErrorKind::internal:
      break;
  }
  return 70;
}

}  // namespace kc
