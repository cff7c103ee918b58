// The command line that all programs share, as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/atomic_file.h"
#include "tests/support/program.h"
#include "tests/support/synthetic_store.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class Programs : public ::testing::Test {
 protected:
  Programs() {
    std::string name = (fs::temp_directory_path() / "kc-apps-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Programs() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  fs::path folder_;
};

std::vector<std::string> programs() {
#ifdef KC_WITH_TORCH
  return {"measure", "dataset", "train", "evaluate", "forecast"};
#else
  return {"measure", "dataset"};
#endif
}

TEST_F(Programs, HelpShowsExamplesAndExitsZero) {
  for (const std::string& program : programs()) {
    const ProgramResult result = run_program({program, {"--help"}});
    EXPECT_EQ(result.exit_code, 0) << program;
    EXPECT_THAT(result.out, HasSubstr("xamples")) << program;
  }
}

TEST_F(Programs, VersionNamesCommitAndCompiler) {
  for (const std::string& program : programs()) {
    const ProgramResult result = run_program({program, {"--version"}});
    EXPECT_EQ(result.exit_code, 0) << program;
    EXPECT_THAT(result.out, HasSubstr("GNU")) << program;
    EXPECT_THAT(result.out, HasSubstr("commit")) << program;
  }
}

TEST_F(Programs, AnUnknownOptionIsAUsageError) {
  for (const std::string& program : programs()) {
    const ProgramResult result = run_program({program, {"--no-such-option"}});
    EXPECT_EQ(result.exit_code, 2) << program;
    EXPECT_THAT(result.err, HasSubstr("no-such-option")) << program;
  }
}

TEST_F(Programs, ATruncatedStoreIsOneClearMessageAndExitThree) {
  write_store(path("whole.h5"), synthetic_store());
  const std::string bytes = read_file(path("whole.h5"));
  for (const std::size_t kept : {std::size_t{0}, std::size_t{100}, bytes.size() / 2, bytes.size() - 1}) {
    std::ofstream(path("cut.h5"), std::ios::binary | std::ios::trunc) << bytes.substr(0, kept);
    const ProgramResult result = run_program({"dataset", {"inspect", path("cut.h5")}});
    EXPECT_EQ(result.exit_code, 3) << kept;
    EXPECT_THAT(result.err, HasSubstr("cut.h5")) << kept;
    EXPECT_THAT(result.err, Not(HasSubstr("HDF5-DIAG"))) << kept;
  }
}

TEST_F(Programs, InspectCountsWhatTheStoreHolds) {
  write_store(path("store.h5"), synthetic_store());
  const ProgramResult result = run_program({"dataset", {"inspect", path("store.h5")}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("widen"));
  EXPECT_THAT(result.out, HasSubstr("deepen"));
}

TEST_F(Programs, PairsOfATrainingPartWithoutAnySaySo) {
  Store store = synthetic_store();
  // The fastest and the slowest of a task: one pair each way, in two of the eight bins, not those in the middle.
  const auto last = std::ranges::find_if(store.measurements.rbegin(), store.measurements.rend(),
                                         [&](const auto& row) { return row.task == store.measurements[0].task; });
  store.measurements = {store.measurements[0], *last};
  write_store(path("two.h5"), store);
  int refused = 0;
  for (const char* count : {"1", "2", "8"}) {
    const ProgramResult few =
        run_program({"dataset",
                     {"pairs", path("two.h5"), "--count", count, "--set", "data.split.test_fraction=0", "--set",
                      "data.split.validation_fraction=0"}});
    if (few.exit_code == 0) continue;
    ++refused;
    EXPECT_STRNE(count, "8") << few.err;
    EXPECT_THAT(few.err, AllOf(HasSubstr("none of the 2 pairs"), HasSubstr("--count 8 asks for every bin")));
  }
  EXPECT_GT(refused, 0);
  store.measurements.resize(1);
  write_store(path("one.h5"), store);
  const ProgramResult none = run_program({"dataset", {"pairs", path("one.h5"), "--count", "3"}});
  EXPECT_EQ(none.exit_code, 3);
  EXPECT_THAT(none.err, AllOf(HasSubstr("one.h5"), HasSubstr("no two kernels"), HasSubstr("dataset split")));
  EXPECT_EQ(run_program({"dataset", {"pairs", path("one.h5"), "--count", "0"}}).exit_code, 0) << "none were asked for";
  write_store(path("store.h5"), synthetic_store());
  EXPECT_EQ(run_program({"dataset", {"pairs", path("store.h5"), "--count", "3"}}).exit_code, 0);
}

#ifdef KC_WITH_TORCH

TEST_F(Programs, AMisspeltKeyNamesFileLineAndNearestKey) {
  std::ofstream(path("run.yaml")) << "warmup:\n  stepz: 3\n";
  const ProgramResult result = run_program({"train", {"--config", path("run.yaml")}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("run.yaml"));
  EXPECT_THAT(result.err, HasSubstr("2"));
  EXPECT_THAT(result.err, HasSubstr("warmup.steps"));
}

TEST_F(Programs, EveryShippedConfigIsComplete) {
  for (const auto& entry : fs::directory_iterator(fs::path(KC_SOURCE_DIR) / "configs")) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() != ".yaml" || name == "hardware.yaml") continue;
    const ProgramResult result = run_program({"train", {"--config", entry.path().string(), "--print-config"}});
    EXPECT_EQ(result.exit_code, 0) << name << ": " << result.err;
  }
}

TEST_F(Programs, TheThreeRewardConfigsDifferInTheRewardOnly) {
  std::string texts[3];
  const char* names[] = {"correctness", "brier", "crps"};
  for (int i = 0; i < 3; ++i) {
    const std::string file = std::string(KC_SOURCE_DIR) + "/configs/" + names[i] + ".yaml";
    const ProgramResult result = run_program({"train", {"--config", file, "--print-config"}});
    const auto at = result.out.find("name: correctness");
    ASSERT_NE(at, std::string::npos) << result.out;
    texts[i] = result.out.substr(0, at) + result.out.substr(result.out.find('\n', at));
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(texts[1], texts[2]);
}

TEST_F(Programs, HelpConfigExplainsEveryKey) {
  const ProgramResult result = run_program({"train", {"--help-config"}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  for (const char* key : {"run.seed", "data.path", "reward.weight", "model.dtype", "prompt.wire", "warmup.steps"}) {
    EXPECT_THAT(result.out, HasSubstr(key));
  }
}

TEST_F(Programs, AnAliasThatHoldsItselfIsAMessageNotACrash) {
  std::ofstream(path("loop.yaml")) << "warmup: &a {x: *a}\n";
  const ProgramResult result = run_program({"train", {"--config", path("loop.yaml"), "--print-config"}});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("loop.yaml"));
}

TEST_F(Programs, NumbersOutOfTheirRangeAreUsageErrors) {
  std::ofstream(path("a.cpp")) << "void run() {}\n";
  for (const char* threshold : {"-1", "2", "nan"}) {
    EXPECT_EQ(run_program({"forecast", {path("a.cpp"), path("a.cpp"), "--threshold", threshold}}).exit_code, 2)
        << threshold;
  }
  const std::string pretrained = std::string(KC_SOURCE_DIR) + "/checkpoints/pretrained";
  EXPECT_EQ(run_program({"evaluate", {"--checkpoint", pretrained, "--rows", "3"}}).exit_code, 2);
  EXPECT_EQ(run_program({"evaluate", {"--checkpoint", pretrained, "--samples", "-1"}}).exit_code, 2);
  EXPECT_EQ(run_program({"measure", {"label", "--out", path("o.h5"), "--limit", "-5"}}).exit_code, 2);
  EXPECT_EQ(run_program({"dataset", {"import"}}).exit_code, 2);
}

TEST_F(Programs, AModelLargerThanTheMachineIsRefusedBeforeItIsMade) {
  write_store(path("store.h5"), synthetic_store());
  const ProgramResult result = run_program({"train",
                                            {"--set", "data.path=" + path("store.h5"), "--set",
                                             "run.dir=" + path("run"), "--set", "model.num_local_experts=1000000"}});
  EXPECT_EQ(result.exit_code, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("GB"));
}

TEST_F(Programs, AnEditedArchitectureIsRefused) {
  const fs::path copy = folder_ / "checkpoint";
  fs::copy(fs::path(KC_SOURCE_DIR) / "checkpoints" / "pretrained", copy);
  std::string config = read_file(copy / "config.json");
  config.replace(config.find("150000"), 6, "140000");
  write_file_atomically(copy / "config.json", config);
  const ProgramResult result = run_program({"evaluate", {"--checkpoint", copy.string()}});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("config.json"));
}

TEST_F(Programs, AMissingCheckpointSaysWhatWasLookedFor) {
  const ProgramResult result = run_program({"evaluate", {"--checkpoint", path("nowhere")}});
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("nowhere"));
}

TEST_F(Programs, AnUnknownHardwareNameSuggestsTheNearest) {
  std::ofstream(path("a.cpp")) << "void run() {}\n";
  const ProgramResult result =
      run_program({"forecast", {"--hardware", "NVIDIA A100-SXM4-80GBB", path("a.cpp"), path("a.cpp")}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("NVIDIA A100-SXM4-80GB"));
  EXPECT_THAT(result.err, HasSubstr("--hardware-file"));
}

TEST_F(Programs, AMachineOfNoEntryIsForecastByTheGenericOne) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "no generic entry fits this processor";
  std::ofstream(path("a.cpp")) << "void run() {}\n";
  std::string table = read_file(std::string(KC_SOURCE_DIR) + "/configs/hardware.yaml");
  const std::size_t cpus = table.find("  # Host CPUs."), generic = table.find("  # For a processor without an entry");
  ASSERT_NE(generic, std::string::npos);
  std::ofstream(path("table.yaml")) << table.erase(cpus, generic - cpus);
  const ProgramResult result =
      run_program({"forecast", {"--hardware-file", path("table.yaml"), path("a.cpp"), path("a.cpp")}});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("generic-avx"));
  EXPECT_THAT(result.err, HasSubstr("--hardware"));
}

#endif

}  // namespace
}  // namespace kc::test
