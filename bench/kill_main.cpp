// kill_test: kills harness, runners and compilers of `measure label` at random moments; fails when a label is lost.
#include <filesystem>
#include <iostream>

#include "base/command_line.h"
#include "base/error.h"
#include "bench/kill_runs.h"

int main(int argc, char** argv) {
  kc::CommandLine line("kill_test", "Kill measuring processes at random moments: is a finished label lost?",
                       "  kill_test --python .venv/bin/python\n  kill_test --kills 20 --pause 0.5", false);
  std::int64_t kills = 200, seed = 1;
  double pause = 1.5;
  std::string python;
  line.option("--kills", kills, "how many")
      .option("--pause", pause, "seconds between two kills at most")
      .option("--seed", seed, "of the moments and the victims")
      .option("--python", python, "with h5py, which must open the file after every kill of the harness");
  return line.run(argc, argv, [&] {
    if (kills < 1) throw kc::Error(kc::ErrorKind::usage, "--kills counts from 1");
    kc::KillOptions options;
    options.measure = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "measure";
    options.python = python;
    options.kills = static_cast<std::size_t>(kills);
    options.longest_pause_s = pause;
    options.seed = static_cast<std::uint64_t>(seed);
    const kc::KillReport report = kc::run_kills(options);
    std::cout << kc::kill_text(report);
    return kc::faults_of(report).empty() ? 0 : kc::exit_code(kc::ErrorKind::check_failed);
  });
}
