#pragma once
// A recording as a device: answers at once from what was measured before, failures included.
#include <memory>
#include <string>
#include <vector>

#include "measure/measurer.h"

namespace kc {

// A request is answered by the last recorded row of its task and kernel, as it was recorded (provenance, rounds,
// facts); only its name is the request's. `name` stands for the recording in messages. A recording of several devices
// is Error{usage} unless `device` names one of them. measure() throws Error{bad_data} before the first result when a
// kernel or task is not in the recording: to call it failed would be a lie.
std::unique_ptr<Measurer> make_replay_measurer(std::vector<Measurement> recorded, const std::string& name,
                                               const std::string& device = "");

}  // namespace kc
