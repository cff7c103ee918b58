#pragma once
// What a server says. The client stores it, so nothing is believed that can be checked. All readers throw
// Error{bad_data} for an answer that is not as the protocol says.
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "measure/measurer.h"

namespace kc {

// As a message or a store may hold it: control characters but newline and tab are escaped, and what is longer than
// `longest` bytes is cut, which it says.
std::string text_of_server(const std::string& text, std::size_t longest);

// The reason in an answer that is no success.
std::string reason_of(const std::string& body);

struct ServerStatus {
  int protocol = 0;  // 0: it names none
  std::string kind;  // only read when the protocol is ours
};
ServerStatus status_of(const std::string& body);

struct TaskAnswer {
  std::string fingerprint;
  Provenance provenance;
};
TaskAnswer task_answer_of(const std::string& body);

enum class JobProgress { unfinished, done, failed, cancelled };
struct JobAnswer {
  JobProgress progress = JobProgress::unfinished;
  std::vector<std::pair<std::size_t, Measurement>> results;  // index of the candidate in the job, result
  std::optional<Error> failure;                              // of a failed job
};
JobAnswer job_answer_of(const std::string& body);

// What makes a result unfit to be stored as the answer to a request; empty: nothing. `announced`: the provenance that
// the server named for the task before, if it was asked.
std::string fault_of_result(const Measurement& result, const MeasureRequest& request, const Provenance* announced);

}  // namespace kc
