#pragma once
// A task on disk and a server with a fake device, on any free port of the loopback address.
#include <memory>
#include <thread>

#include "serve/client.h"
#include "serve/server.h"
#include "tests/measure/fake_task.h"
#include "tests/measure/task_files.h"

namespace kc::test {

inline constexpr const char* kToken = "a token of the tests";

class RunningServer {
 public:
  RunningServer(Measurer& measurer, const std::vector<TaskPack>& tasks, ServeOptions options = {}) {
    options.token = kToken;
    server_ = std::make_unique<MeasureServer>(measurer, tasks, options);
    thread_ = std::jthread([this](const std::stop_token& stop) { server_->run(stop); });
  }
  int port() const { return server_->port(); }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }

 private:
  std::unique_ptr<MeasureServer> server_;
  std::jthread thread_;
};

inline RemoteOptions impatient() {
  RemoteOptions options;
  options.token = kToken;
  options.patience_s = 1;
  options.poll_s = 0.5;
  return options;
}

}  // namespace kc::test
