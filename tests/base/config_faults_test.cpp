// What is wrong with a configuration is said all at once, each with its place.
#include "base/config.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc {
namespace {

using test::TempFolder;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using Sets = std::vector<std::string>;

void read_all(Config& config) {
  ConfigSection s = config.section("warmup");
  s.integer("steps", 600, {.meaning = "steps of stage 1", .unit = "steps", .min = 0});
  s.number("dropout", 0, {.meaning = "share of dropped values", .min = 0, .max = 1});
  s.boolean("mixed", false, {.meaning = "mixed precision"});
  config.section("reward").choice("name", "brier", {"correctness", "brier", "crps"}, {.meaning = "reward"});
  config.section("data").text("path", "labels.h5", {.meaning = "labels"});
  config.section("data.split").integers("parts", {8, 2}, {.meaning = "shares", .min = 1});
}

std::string faults_of(const std::string& yaml, const Sets& sets = {}) {
  Config config = Config::parse(yaml, "x.yaml", sets);
  read_all(config);
  try {
    config.finish();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    return error.what();
  }
  return "";
}

TEST(ConfigFaults, ACorrectFileHasNone) {
  EXPECT_EQ(faults_of("warmup: {steps: 0, dropout: 1, mixed: true}\nreward: {name: crps}\n"), "");
}

TEST(ConfigFaults, AllAreListedAtOnceInTheOrderOfTheFile) {
  EXPECT_EQ(faults_of("warmup:\n"
                      "  stesp: 5\n"
                      "  dropout: 1.5\n"
                      "  mixed: maybe\n"
                      "reward:\n"
                      "  name: breir\n"
                      "unrelated: 1\n"),
            "the configuration has 5 faults:\n"
            "  x.yaml:2: unknown key 'warmup.stesp': nothing would read it; did you mean 'warmup.steps'?\n"
            "  x.yaml:3: 'warmup.dropout' must be a number, from 0 to 1, got '1.5'\n"
            "  x.yaml:4: 'warmup.mixed' must be true or false, got 'maybe'\n"
            "  x.yaml:6: 'reward.name' must be one of correctness | brier | crps, got 'breir'\n"
            "  x.yaml:7: unknown key 'unrelated': nothing would read it; --help-config lists all keys");
}

TEST(ConfigFaults, TheDefaultStandsInForABadValue) {
  Config config = Config::parse("warmup: {steps: many}\n", "x.yaml");
  EXPECT_EQ(config.section("warmup").integer("steps", 600, {"steps"}), 600);
}

TEST(ConfigFaults, IllTypedValuesAreShownAsGiven) {
  EXPECT_THAT(faults_of("warmup: {steps: 1.5}"), HasSubstr("an integer, at least 0, got '1.5'"));
  EXPECT_THAT(faults_of("warmup: {steps: \"5\"}"), HasSubstr("got the text \"5\""));
  EXPECT_THAT(faults_of("warmup: {steps: [5]}"), HasSubstr("got a list"));
  EXPECT_THAT(faults_of("warmup: {steps: }"), HasSubstr("got nothing"));
  EXPECT_THAT(faults_of("warmup: {steps: 99999999999999999999}"), HasSubstr("an integer"));
  EXPECT_THAT(faults_of("warmup: {dropout: .nan}"), HasSubstr("got '.nan'"));
  EXPECT_THAT(faults_of("warmup: {mixed: yes}"), HasSubstr("true or false"));
  EXPECT_THAT(faults_of("data: {split: {parts: [3, 0]}}"), HasSubstr("each an integer, at least 1, got a list of 2"));
  EXPECT_THAT(faults_of("data: {split: {parts: 3}}"), HasSubstr("a list like [a, b]"));
}

TEST(ConfigFaults, BoundsThemselvesAreAllowed) {
  EXPECT_EQ(faults_of("warmup: {steps: 0, dropout: 0.0}"), "");
  EXPECT_THAT(faults_of("warmup: {steps: -1}"), HasSubstr("'warmup.steps'"));
  EXPECT_THAT(faults_of("warmup: {dropout: 1.0000001}"), HasSubstr("'warmup.dropout'"));
}

TEST(ConfigFaults, AValueWhereASectionShouldBeIsUnknown) {
  EXPECT_THAT(faults_of("warmup: 5"), HasSubstr("x.yaml:1: unknown key 'warmup'"));
  EXPECT_THAT(faults_of("warmup: {steps: {a: 1}}"), HasSubstr("unknown key 'warmup.steps.a'"));
}

TEST(ConfigFaults, AKeyOfTheWrongSectionIsFoundInTheRightOne) {
  EXPECT_THAT(faults_of("reward: {dropout: 0.1}"), HasSubstr("did you mean 'warmup.dropout'?"));
  EXPECT_THAT(faults_of("rewrad: {name: brier}"), HasSubstr("did you mean 'reward.name'?"));
  EXPECT_THAT(faults_of("data: {bytes_of_everything: 1}"), HasSubstr("'data' has: path"));
}

TEST(ConfigFaults, FaultsOfAParentNameTheParentsFileAndLine) {
  const TempFolder folder;
  folder.write("root.yaml", "\nwarmup:\n  stesp: 5\n");
  Config config = Config::load(folder.write("leaf.yaml", "base: root.yaml\nwarmup:\n  steps: x\n"));
  read_all(config);
  EXPECT_ERROR(config.finish(), ErrorKind::config, AllOf(HasSubstr("root.yaml:3: "), HasSubstr("leaf.yaml:3: ")));
}

TEST(ConfigFaults, FaultsOfSetsNameTheSet) {
  EXPECT_THAT(faults_of("", {"warmup.stesp=5"}),
              AllOf(HasSubstr("--set warmup.stesp=5: "), HasSubstr("'warmup.steps'")));
  EXPECT_THAT(faults_of("warmup: {steps: 1}", {"warmup.steps=x"}),
              AllOf(HasSubstr("--set warmup.steps=x: "), Not(HasSubstr("x.yaml:1"))));
}

TEST(ConfigFaults, AMissingRequiredKeyIsAFault) {
  Config config = Config::parse("a: {}\n", "x.yaml");
  config.section("a").text("from", "", {.meaning = "start folder", .required = true});
  EXPECT_ERROR(config.finish(), ErrorKind::config,
               AllOf(HasSubstr("x.yaml: the required key 'a.from' is missing"), HasSubstr("start folder")));
  Config given = Config::parse("a: {from: y}\n", "x.yaml");
  EXPECT_EQ(given.section("a").text("from", "", {.meaning = "start folder", .required = true}), "y");
  EXPECT_NO_THROW(given.finish());
}

TEST(ConfigFaults, ComponentsMayAddTheirOwn) {
  Config config = Config::parse("warmup:\n  steps: 3\n", "x.yaml");
  read_all(config);
  config.section("warmup").fault("steps", "excludes 'policy.steps'; give one of the two");
  EXPECT_ERROR(config.finish(), ErrorKind::config, HasSubstr("x.yaml:2: 'warmup.steps' excludes"));
}

TEST(ConfigFaults, IgnoredSectionsMayStandUnread) {
  Config config = Config::parse("measure: {repeats: 3, deep: {x: 1}}\nmeasurement: {x: 1}\n", "x.yaml");
  config.ignore_section("measure");
  EXPECT_ERROR(config.finish(), ErrorKind::config, AllOf(HasSubstr("measurement.x"), Not(HasSubstr("repeats"))));
}

TEST(ConfigFaults, AKeyReadTwiceIsReportedOnce) {
  Config config = Config::parse("warmup: {steps: x}\n", "x.yaml");
  read_all(config);
  read_all(config);
  EXPECT_ERROR(config.finish(), ErrorKind::config, HasSubstr("has a fault:"));
}

TEST(ConfigFaults, AKeyThatIsAlsoASectionIsABug) {
  Config config = Config::defaults();
  read_all(config);
  EXPECT_ERROR(config.section("data").text("split", "", {"split"}), ErrorKind::internal, HasSubstr("data.split"));
}

TEST(ConfigFiles, WhatCannotBeReadNamesFileAndLine) {
  const TempFolder folder;
  folder.write("brier.yaml", "a: {b: 1}\n");
  EXPECT_ERROR(Config::load(folder / "breir.yaml"), ErrorKind::config,
               AllOf(HasSubstr("breir.yaml: no such"), HasSubstr("did you mean 'brier.yaml'?")));
  EXPECT_ERROR(Config::load(folder.path()), ErrorKind::config, HasSubstr("directory"));
  EXPECT_ERROR(Config::parse("a:\n  b: [1,\nc: 2\n", "x.yaml"), ErrorKind::config, HasSubstr("x.yaml:"));
  EXPECT_ERROR(Config::parse("- 1\n- 2\n", "x.yaml"), ErrorKind::config, HasSubstr("x.yaml:1: expected sections"));
  EXPECT_ERROR(Config::parse("a: {b: 1}\n---\na: {b: 2}\n", "x.yaml"), ErrorKind::config, HasSubstr("2 documents"));
  EXPECT_ERROR(Config::parse("? [a, b]\n: 1\n", "x.yaml"), ErrorKind::config, HasSubstr("x.yaml:1: a key must be"));
}

TEST(ConfigFiles, AKeyThatStandsTwiceIsAnError) {
  EXPECT_ERROR(Config::parse("a:\n  b: 1\n  b: 2\n", "x.yaml"), ErrorKind::config,
               HasSubstr("x.yaml:3: 'a.b' stands twice, first at x.yaml:2"));
  EXPECT_ERROR(Config::parse("a:\n  b: 1\na:\n  b: 2\n", "x.yaml"), ErrorKind::config, HasSubstr("stands twice"));
}

TEST(ConfigFiles, ParentsMustExistAndFormNoCircle) {
  const TempFolder folder;
  folder.write("a.yaml", "base: b.yaml\n");
  folder.write("b.yaml", "base: a.yaml\n");
  EXPECT_ERROR(Config::load(folder / "a.yaml"), ErrorKind::config, HasSubstr("its own parent"));
  folder.write("c.yaml", "x: {y: 1}\nbase: none.yaml\n");
  EXPECT_ERROR(Config::load(folder / "c.yaml"), ErrorKind::config,
               AllOf(HasSubstr("c.yaml:2:"), HasSubstr("none.yaml")));
  EXPECT_ERROR(Config::parse("base: [a, b]\n", "x.yaml"), ErrorKind::config,
               HasSubstr("x.yaml:1: 'base' must name one"));
}

TEST(ConfigFiles, ASetWithoutEqualsIsAUsageError) {
  EXPECT_ERROR(Config::defaults(Sets{"run.seed"}), ErrorKind::usage, HasSubstr("--set run.seed: expected"));
  EXPECT_ERROR(Config::defaults(Sets{"=3"}), ErrorKind::usage, HasSubstr("expected section.key=value"));
  EXPECT_ERROR(Config::defaults(Sets{"a.b=[1"}), ErrorKind::config, HasSubstr("--set a.b=[1: not valid YAML"));
}

}  // namespace
}  // namespace kc
