#pragma once
// Requests cut into jobs that a server takes.
#include <span>
#include <vector>

#include "measure/measurer.h"

namespace kc {

// Where each job ends. A job has one task, requests that are all fresh or none, at most `most` of them, and at most
// `bytes` of candidates as JSON; a longer candidate goes alone. Error{bad_data} names a candidate that no server takes:
// it is no UTF-8 text, or longer than kMaxJobBytes.
std::vector<std::size_t> cut_into_jobs(std::span<const MeasureRequest> requests, std::size_t most, std::size_t bytes);

}  // namespace kc
