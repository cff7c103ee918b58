#pragma once
// Subcommands of the program `checkpoint`. Each call adds one; what its options are written to lives as long as `line`.
#include "base/command_line.h"

namespace kc {

void add_inspect_command(CommandLine& line);
void add_verify_command(CommandLine& line);  // exit code 1 when something is wrong
void add_convert_command(CommandLine& line);

}  // namespace kc
