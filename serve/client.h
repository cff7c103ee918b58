#pragma once
// A device of another machine (`measure serve` there) as a Measurer.
#include <memory>
#include <string>

#include "measure/measurer.h"

namespace kc {

struct RemoteOptions {
  std::string token;
  double connect_timeout_s = 5;
  double patience_s = 30;  // how long a server may be out of reach before that is an error
  double poll_s = 2;       // longest wait of one poll; also how long a stop may take
  std::size_t job_size = 64;
  std::size_t job_bytes = std::size_t{8} << 20;  // of candidates as JSON; one that is longer goes alone
};

// `url` is http://HOST:PORT. Error{usage} for another form, or a token that is none. Candidates go in jobs of one task;
// a job that was sent is never measured twice, however often the line breaks. measure() and provenance() throw
// Error{environment} when the server stays out of reach, refuses the token, answers what no `measure serve` would, or
// gives a result that is unfit to be stored; Error{bad_data} when it lacks the task or has another one of that name;
// and what the server's device threw.
std::unique_ptr<Measurer> make_remote_measurer(const std::string& url, const RemoteOptions& options);

}  // namespace kc
