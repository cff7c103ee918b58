// soak: thousands of candidates, a tenth of them hostile, through the host device; fails when anything stays behind.
#include <iostream>

#include "base/command_line.h"
#include "base/error.h"
#include "bench/soak.h"

int main(int argc, char** argv) {
  kc::CommandLine line("soak", "Measure many candidates, hostile ones among them: what stays behind?",
                       "  soak\n  soak --candidates 200 --hostile 0.5", false);
  std::int64_t candidates = 2000, seed = 1;
  double hostile = 0.1;
  line.option("--candidates", candidates, "how many")
      .option("--hostile", hostile, "share of hostile ones")
      .option("--seed", seed, "of the draw");
  return line.run(argc, argv, [&] {
    if (candidates < 1) throw kc::Error(kc::ErrorKind::usage, "--candidates counts from 1");
    const kc::SoakReport report =
        kc::run_soak({static_cast<std::size_t>(candidates), hostile, static_cast<std::uint64_t>(seed)});
    std::cout << kc::soak_text(report);
    return kc::faults_of(report).empty() ? 0 : kc::exit_code(kc::ErrorKind::check_failed);
  });
}
