#include "measure/host_environment.h"

#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "measure/isolation.h"
#include "measure/landlock.h"
#include "measure/runner_protocol.h"

namespace kc {

CompileEnvironment make_compile_environment(const HostOptions& options, const TemporaryFolder& folder) {
  CompileEnvironment environment;
  environment.options = options;
  environment.compiler = find_program(options.compiler);
  try {
    environment.c_compiler = find_program(options.c_compiler);
  } catch (const Error&) {
    environment.c_compiler.clear();  // missed only by a task that has C sources
  }
  environment.runner = find_runner();
  const bool root = ::geteuid() == 0;
  environment.drop_user = root && options.sandbox != "off" && folder.is_reachable_by_others();
  if (options.sandbox == "off")
    log::warning("SANDBOX OFF: candidates run with your rights. Measure only sources that you trust.");
  if (root && options.sandbox != "off" && !environment.drop_user) {
    const std::string message = "compilers run as root because " + folder.path().string() +
                                " cannot be reached by others; set TMPDIR to a folder that can";
    if (options.sandbox == "require") throw Error(ErrorKind::environment, message);
    log::warning("SANDBOX INCOMPLETE: " + message);
  }
  if (options.sandbox != "off") {
    report_missing(options.sandbox, landlock_abi() > 0 ? 0 : kNoLandlock);  // nothing else keeps files from compilers
    const std::string limits = make_cgroup(options, 1).missing();
    if (!limits.empty()) log::info("no control group for " + limits + ": address space and call filter bound them");
  }
  return environment;
}

}  // namespace kc
