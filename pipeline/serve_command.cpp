#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "pipeline/measure_setup.h"
#include "serve/server.h"
#include "serve/token.h"

namespace kc {
namespace {

// Before anything is opened or made. Error{usage}.
void check_arguments(const MeasureArguments& arguments) {
  if (arguments.port < 0 || arguments.port > 65535) {
    throw Error(ErrorKind::usage, fmt::format("--port is 0 to 65535, found {}", arguments.port));
  }
  if (arguments.address.empty()) {
    throw Error(
        ErrorKind::usage,
        "--address is empty: give an address of this machine to listen on, as 127.0.0.1; 0.0.0.0 is all of them");
  }
  // Its token could not be given, and its jobs would wait in two queues.
  if (has_server(arguments.device)) {
    throw Error(ErrorKind::usage, fmt::format("--device {}: a server is not served once more: give clients that other "
                                              "server's address themselves, as --device http://HOST:PORT",
                                              arguments.device));
  }
  if (arguments.token_file.empty()) {
    throw Error(ErrorKind::usage,
                "give --token-file FILE: the secret that clients must send (made when it is not there)");
  }
}

}  // namespace

int serve_command(const CommonOptions& common, const MeasureArguments& arguments) {
  const std::optional<DeviceOptions> options = read_device_options(common);
  if (!options) return 0;
  check_arguments(arguments);
  ServeOptions serve;
  serve.address = arguments.address;
  serve.port = static_cast<int>(arguments.port);
  serve.token = read_token_file(arguments.token_file, true);
  const std::vector<TaskPack> tasks = load_tasks(arguments.tasks);
  const OpenDevice device = open_device(arguments, *options, tasks);
  if (measures_here(arguments.device)) admit_tasks(tasks, device, options->host, interrupt_token());
  MeasureServer server(*device.measurer, device.tasks, serve);
  if (serve.address != "127.0.0.1" && serve.address != "::1" && serve.address != "localhost") {
    log::warning(
        "HTTP is not encrypted: who reads the network reads the token; prefer a tunnel to the loopback address");
  }
  const std::string url = url_of(serve.address, server.port());
  std::cout << (common.json ? nlohmann::json{{"url", url}, {"tasks", device.tasks.size()}}.dump()
                            : fmt::format("serving {} tasks of the device {} at {}", device.tasks.size(),
                                          arguments.device, url))
            << std::endl;
  server.run(interrupt_token());
  return 0;
}

}  // namespace kc
