#pragma once
// The jobs of a server: queued, measured one after another on one device, kept for a while.
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "measure/measurer.h"

namespace kc {

struct JobLimits {
  std::size_t queued = 8;     // jobs that wait or run
  std::size_t finished = 64;  // jobs whose results are kept; the oldest go first
};

enum class JobState { queued, running, done, failed, cancelled };
std::string_view name_of(JobState state);

struct JobView {
  JobState state = JobState::queued;
  std::size_t total = 0;
  std::vector<std::pair<std::size_t, Measurement>> results;  // in order of arrival, from the asked one on
  std::optional<Error> failure;                              // of the device, not of a candidate
};

enum class Submission { accepted, known, conflict, full };

struct BoardCounts {
  std::size_t waiting = 0;  // queued or running
  std::size_t kept = 0;     // all that are known
  std::int64_t measured = 0;
};

// Thread-safe. One thread of its own measures, so that timing is exclusive.
class JobBoard {
 public:
  // The measurer and the tasks of all requests must outlive the board.
  JobBoard(Measurer& measurer, const JobLimits& limits);
  ~JobBoard();  // cancels everything and waits
  JobBoard(const JobBoard&) = delete;
  JobBoard& operator=(const JobBoard&) = delete;

  // `content` is a hash of the whole submission: an id that comes again with the same content is the same job, with
  // another content a conflict.
  Submission submit(const std::string& id, const std::string& content, std::vector<MeasureRequest> requests);

  // Results from number `from` on; waits up to `wait` for at least one or for the end. Nothing when there is no such
  // job.
  std::optional<JobView> view(const std::string& id, std::size_t from, std::chrono::milliseconds wait);

  bool cancel(const std::string& id);  // false when there is no such job; results so far stay
  BoardCounts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kc
