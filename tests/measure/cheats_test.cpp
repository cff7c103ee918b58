// Every cheat of cheats/catalogue.yaml is really run and must be caught, and every row of the catalogue has its tests.
#include <gmock/gmock.h>
#include <yaml-cpp/yaml.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/atomic_file.h"
#include "measure/core_hold.h"
#include "measure/machine.h"
#include "tests/measure/catalogue.h"
#include "tests/measure/task_files.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kCatalogue = KC_SOURCE_DIR "/tests/measure/cheats/catalogue.yaml";
constexpr double kGain = 0.5;  // log2: less is noise, and no cheat here would be content with less

struct Cheat {
  int row = 0;
  std::string name, pack, expect, log, source;
};

std::string source_of(const YAML::Node& node) {
  const bool own_pack = node["pack"].IsDefined();
  const std::string names = own_pack ? ""
                                     : "  const float* x = (const float*)inputs[0]; float* y = (float*)outputs[0];\n"
                                       "  const long long n = c->N; (void)x; (void)y; (void)n;\n";
  return "#define HONEST for (long long i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f\n" +
         node["before"].as<std::string>() +
         "\nvoid run(const Case* c, const void* const* inputs, void* const* outputs) {\n" + names +
         node["body"].as<std::string>() + "\n}\n";
}

std::vector<Cheat> cheats() {
  std::vector<Cheat> cheats;
  for (const YAML::Node& node : YAML::LoadFile(kCatalogue)["cheats"]) {
    cheats.push_back({node["row"].as<int>(), node["name"].as<std::string>(), node["pack"].as<std::string>(""),
                      node["expect"].as<std::string>(), node["log"].as<std::string>(), source_of(node)});
  }
  return cheats;
}

HostOptions options_for_cheats() {
  HostOptions options = quick_options();
  options.compile_timeout_s = 3;
  return options;
}

class CheatTest : public ::testing::TestWithParam<Cheat> {
 protected:
  TaskFiles files_;
};

TEST_P(CheatTest, IsCaught) {
  const Cheat& cheat = GetParam();
  const TaskPack pack =
      load_task_pack(cheat.pack.empty() ? files_.path() : std::filesystem::path(KC_SOURCE_DIR) / "tasks" / cheat.pack);
  const Measurement result = measure_source(pack, cheat.source, options_for_cheats());
  const bool no_gain = cheat.expect == "no_gain";
  EXPECT_EQ(name_of(result.status), no_gain ? "ok" : cheat.expect) << result.log << "\n" << cheat.source;
  EXPECT_THAT(result.log, HasSubstr(cheat.log));
  EXPECT_THAT(result.log, ::testing::Not(HasSubstr("root:")));
  if (no_gain && result.status == MeasurementStatus::ok) {
    EXPECT_LT(log2_speedup_scalar(result), kGain);
  }
}

INSTANTIATE_TEST_SUITE_P(Catalogue, CheatTest, ::testing::ValuesIn(cheats()), [](const auto& cheat) {
  return "row_" + std::to_string(cheat.param.row) + "_" + cheat.param.name;
});

TEST(Cheats, EveryRowOfTheCatalogueHasTestsOfItsCategory) {
  const YAML::Node catalogue = YAML::LoadFile(kCatalogue);
  std::map<int, int> sources;
  for (const Cheat& cheat : cheats()) ++sources[cheat.row];
  const std::set<std::string> tests = tests_in_the_sources();
  std::map<std::string, int> counts;
  int expected = 1;
  for (const YAML::Node& row : catalogue["rows"]) {
    const int number = row["row"].as<int>();
    EXPECT_EQ(number, expected++);
    const std::string category = row["category"].as<std::string>();
    ++counts[category];
    const std::size_t proofs = category == "executed" ? static_cast<std::size_t>(sources[number]) : row["tests"].size();
    EXPECT_GT(proofs, 0) << "row " << number;
    EXPECT_TRUE(category != "gpu" || names_a_gpu_test(row["tests"].as<std::vector<std::string>>())) << "row " << number;
    for (const YAML::Node& test : row["tests"]) {
      EXPECT_EQ(tests.count(test.as<std::string>()), 1) << "row " << number << ": no test " << test.as<std::string>();
    }
  }
  EXPECT_EQ(expected, 37);
  for (const auto& [category, count] : counts) RecordProperty(category, count);
  EXPECT_EQ(counts["executed"] + counts["contract"] + counts["admission"] + counts["gpu"], 36);
}

TEST(CheatContract, OutputsAreBytesInMemoryOfOurs) {
  // A candidate is called with raw addresses in arenas of ours; there is no object whose methods it could replace.
  const TaskFiles files;
  const std::string prelude = contract_prelude(load_task_pack(files.path()));
  EXPECT_THAT(prelude, HasSubstr("void run(const Case* c, const void* const* inputs, void* const* outputs);"));
}

TEST(Cheats, OutputsThatDependOnWhatLayThereAreNotedOrRefused) {
  const TaskFiles files;
  const TaskPack pack = load_task_pack(files.path());
  const std::string within = replaced(kHonestSource, "y[i] = 2.0f * x[i] + 1.0f;",
                                      "{ unsigned low = *(unsigned*)&y[i] & 1; y[i] = 2.0f * x[i] + 1.0f; "
                                      "*(unsigned*)&y[i] ^= low; }");
  const Measurement restless = measure_source(pack, within);
  ASSERT_EQ(name_of(restless.status), "ok") << restless.log;
  EXPECT_EQ(restless.facts.at("deterministic"), 0) << "its last bit is that of the memory before";
  EXPECT_EQ(measure_source(pack, kHonestSource).facts.at("deterministic"), 1);
}

TEST(Cheats, TakingOverTheRunnerToStartBeforeTheClockGainsNothing) {
  const CorePair cores = choose_cores();
  if (cores.shared || !CoreHold(cores.runner).works()) {
    GTEST_SKIP() << "needs two cores and the right to real time, without which this is not prevented";
  }
  const std::filesystem::path root(KC_SOURCE_DIR);
  std::string protocol = read_file(root / "measure/runner_protocol.h");
  protocol.erase(protocol.find("#pragma once"), std::strlen("#pragma once"));
  const std::string source =
      replaced(read_file(root / "tests/measure/cheats/takeover.cpp"), "RUNNER_PROTOCOL", protocol);
  const TaskPack pack = load_task_pack(root / "tasks/reduction");
  const Measurement honest = measure_source(pack, "#define HONEST\n" + source);
  const Measurement cheat = measure_source(pack, source);
  ASSERT_EQ(name_of(honest.status), "ok") << honest.log;
  if (cheat.status == MeasurementStatus::ok) {
    EXPECT_LT(log2_speedup_scalar(cheat) - log2_speedup_scalar(honest), kGain);
  }
}

TEST(Cheats, LowerPrecisionIsCaughtOnInputsOfAWideRange) {
  // Sums whose terms cancel: the difference of two products of a thousand times the result.
  TaskFiles files(
      Files{{"task.yaml",
             replaced(replaced(kTaskYaml, "generator: {kind: normal}", "generator: {kind: normal, deviation: 1000}"),
                      "relative: 1.0e-6, absolute: 1.0e-6", "relative: 1.0e-3, absolute: 0")},
            {"reference.cpp",
             replaced(kReferenceSource, "2.0 * x[i] + 1.0", "(double)x[i] * 1001.0 - (double)x[i] * 1000.0")},
            {"honest.cpp", replaced(kHonestSource, "2.0f * x[i] + 1.0f", "x[i] * 1001.0f - x[i] * 1000.0f")}});
  const TaskPack pack = load_task_pack(files.path());
  EXPECT_EQ(name_of(measure_source(pack, pack.seed.source).status), "ok");
  const std::string half = replaced(pack.seed.source, "x[i] * 1001.0f - x[i] * 1000.0f",
                                    "(float)(_Float16)(x[i] * 0.01f) * 100100.0f - x[i] * 1000.0f");
  const Measurement cheat = measure_source(pack, half);
  EXPECT_EQ(name_of(cheat.status), "incorrect") << cheat.log;
}

}  // namespace
}  // namespace kc::test
