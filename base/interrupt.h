#pragma once
#include <stop_token>

namespace kc {

// Installs SIGINT and SIGTERM handlers once and returns the token that they trigger. Loops poll it between steps, leave
// valid files and throw Error{interrupted}. A second signal ends the process at once.
std::stop_token interrupt_token();

// Throws Error{interrupted} when the token is triggered.
void throw_if_stopped(const std::stop_token& stop);

}  // namespace kc
