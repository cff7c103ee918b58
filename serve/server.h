#pragma once
// `measure serve`: one device for clients on this machine or others, by HTTP.
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "measure/measurer.h"
#include "serve/job_board.h"
#include "serve/protocol.h"

namespace kc {

struct ServeOptions {
  std::string address = "127.0.0.1";
  int port = 0;       // 0: any free one
  std::string token;  // that clients must send; see fault_of_token
  std::size_t max_body_bytes = kMaxJobBytes;
  std::size_t max_candidates = 512;  // of one job
  std::size_t threads = 16;          // requests at a time; others wait
  double read_timeout_s = 10;        // for a client to send the next bytes, or to take them
  double longest_wait_s = 20;        // of a poll that waits for results
  JobLimits jobs;
};

// http://HOST:PORT, with an IPv6 address in brackets.
std::string url_of(const std::string& address, int port);

class MeasureServer {
 public:
  // Binds; Error{environment} when the port is taken, Error{usage} for a token that is none, and what served_tasks
  // throws. `measurer` must outlive the server, which asks it nothing beside a measurement. `tasks` as the device sees
  // them (pack_for_device).
  MeasureServer(Measurer& measurer, std::vector<TaskPack> tasks, const ServeOptions& options);
  ~MeasureServer();
  MeasureServer(const MeasureServer&) = delete;
  MeasureServer& operator=(const MeasureServer&) = delete;

  int port() const;
  // Serves until stopped; blocks. Jobs that are not finished then are cancelled.
  void run(const std::stop_token& stop);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kc
