// Short versions of bench/soak and bench/kill_test.
#include <gmock/gmock.h>

#include <filesystem>

#include "bench/kill_runs.h"
#include "bench/soak.h"
#include "tests/support/python.h"

namespace kc {
namespace {

TEST(Endurance, ASoakWithHostileCandidatesLeavesNothingBehind) {
  const SoakReport report = run_soak({.candidates = 64, .hostile_share = 0.25, .seed = 1});
  EXPECT_THAT(faults_of(report), ::testing::IsEmpty()) << soak_text(report);
  EXPECT_GT(report.by_status[static_cast<std::size_t>(MeasurementStatus::ok)], 30U) << soak_text(report);
}

TEST(Endurance, KilledProcessesLoseNoFinishedLabel) {
  KillOptions options;
  options.measure = std::filesystem::path(KC_BIN_DIR) / "measure";
  // The set-up of a newcomer has a Python without h5py: then our reader alone opens the file.
  if (test::python_can("import h5py")) options.python = std::filesystem::path(KC_SOURCE_DIR) / ".venv/bin/python";
  options.kills = 12;
  const KillReport report = run_kills(options);
  EXPECT_THAT(faults_of(report), ::testing::IsEmpty()) << kill_text(report);
  EXPECT_GT(report.labels, 0U) << kill_text(report);
}

}  // namespace
}  // namespace kc
