// What a configuration gives: layers, overrides, defaults, and the texts that describe it.
#include <yaml-cpp/yaml.h>

#include <limits>

#include "base/config.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc {
namespace {

using test::TempFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Sets = std::vector<std::string>;

std::int64_t steps_of(Config& config) {
  return config.section("warmup").integer("steps", 600, {.meaning = "steps", .unit = "steps", .min = 0});
}

TEST(ConfigLayers, DefaultsHoldWhereNothingIsGiven) {
  Config config = Config::defaults();
  EXPECT_EQ(steps_of(config), 600);
  EXPECT_NO_THROW(config.finish());
  EXPECT_EQ(config.name(), "defaults");
}

TEST(ConfigLayers, ReadsEveryType) {
  Config config = Config::parse(
      "a:\n  i: -3\n  big: 2e6\n  d: 1.5e-3\n  b: true\n  s: 12 monkeys\n  c: red\n  t: [x, 'y z']\n  n: [1, 2]\n"
      "  f: [0.5, .inf, 3]\n",
      "x.yaml");
  ConfigSection a = config.section("a");
  EXPECT_EQ(a.integer("i", 0, {"i"}), -3);
  EXPECT_EQ(a.integer("big", 0, {"big"}), 2'000'000);
  EXPECT_EQ(a.number("d", 0, {"d"}), 1.5e-3);
  EXPECT_TRUE(a.boolean("b", false, {"b"}));
  EXPECT_EQ(a.text("s", "", {"s"}), "12 monkeys");
  EXPECT_EQ(a.choice("c", "blue", {"red", "blue"}, {"c"}), "red");
  EXPECT_THAT(a.texts("t", {}, {"t"}), ElementsAre("x", "y z"));
  EXPECT_THAT(a.integers("n", {}, {"n"}), ElementsAre(1, 2));
  EXPECT_THAT(a.numbers("f", {}, {"f"}), ElementsAre(0.5, std::numeric_limits<double>::infinity(), 3.0));
  EXPECT_NO_THROW(config.finish());
}

TEST(ConfigLayers, AChildOverridesItsParentKeyByKey) {
  const TempFolder folder;
  folder.write("common/root.yaml", "warmup: {steps: 1, rate: 0.1}\nrun: {seed: 5}\n");
  folder.write("middle.yaml", "base: common/root.yaml\nwarmup:\n  steps: 2\n");
  folder.write("leaf.yaml", "base: middle.yaml\nrun.seed: 6\n");
  Config config = Config::load(folder / "leaf.yaml");
  EXPECT_EQ(steps_of(config), 2);
  EXPECT_EQ(config.section("warmup").number("rate", 0, {"rate"}), 0.1);
  EXPECT_EQ(config.section("run").integer("seed", 0, {"seed"}), 6);
  EXPECT_NO_THROW(config.finish());
  EXPECT_EQ(config.name(), "leaf");
}

TEST(ConfigLayers, AListReplacesTheParentsList) {
  const TempFolder folder;
  folder.write("root.yaml", "a: {x: [1, 2, 3]}\n");
  Config config = Config::load(folder.write("leaf.yaml", "base: root.yaml\na: {x: [9]}\n"));
  EXPECT_THAT(config.section("a").integers("x", {}, {"x"}), ElementsAre(9));
}

TEST(ConfigLayers, SetsComeLastAndTheLastSetWins) {
  const Sets sets = {"warmup.steps=3", "warmup.steps=4", "a.list=[1, 2]", "a.text=", "a.b={c: 7}"};
  Config config = Config::parse("warmup: {steps: 1}\n", "x.yaml", sets);
  EXPECT_EQ(steps_of(config), 4);
  EXPECT_THAT(config.section("a").integers("list", {}, {"list"}), ElementsAre(1, 2));
  EXPECT_EQ(config.section("a").text("text", "default", {"text"}), "");
  EXPECT_EQ(config.section("a.b").integer("c", 0, {"c"}), 7);
  EXPECT_NO_THROW(config.finish());
}

TEST(ConfigLayers, NestedSectionsAreReadByTheirDottedName) {
  Config config = Config::parse("data:\n  path: x.h5\n  split:\n    kind: task\n", "x.yaml");
  EXPECT_EQ(config.section("data.split").text("kind", "kernels", {"kind"}), "task");
  EXPECT_EQ(config.section("data").text("path", "", {"path"}), "x.h5");
  EXPECT_NO_THROW(config.finish());
}

TEST(ConfigLayers, HasTellsWhatIsGivenWithoutReadingIt) {
  Config config = Config::parse("warmup: {steps: 1}\n", "x.yaml");
  EXPECT_TRUE(config.section("warmup").has("steps"));
  EXPECT_FALSE(config.section("warmup").has("rate"));
  EXPECT_ERROR(config.finish(), ErrorKind::config, HasSubstr("warmup.steps"));
}

TEST(ConfigLayers, ASectionWithAllKeysCommentedOutIsEmpty) {
  Config config = Config::parse("warmup:\n  # steps: 3\n", "x.yaml");
  EXPECT_EQ(steps_of(config), 600);
  EXPECT_NO_THROW(config.finish());
}

TEST(ConfigLayers, SectionsOutliveAMoveOfTheConfig) {
  Config first = Config::parse("warmup: {steps: 1}\n", "x.yaml");
  ConfigSection section = first.section("warmup");
  const Config second = std::move(first);
  EXPECT_EQ(section.integer("steps", 0, {"steps"}), 1);
  EXPECT_NO_THROW(second.finish());
}

void read_many(Config& config, const std::string& text) {
  ConfigSection a = config.section("a");
  a.text("text", text, {"any text"});
  a.texts("texts", {text, "", "true", "1.5", "null", "a: b", "#"}, {"texts"});
  a.integer("low", std::numeric_limits<std::int64_t>::min(), {"lowest"});
  a.integer("high", std::numeric_limits<std::int64_t>::max(), {"highest"});
  a.numbers("numbers", {0.1, 1e-7, 1e300, -0.0, 3, std::numeric_limits<double>::infinity()}, {"numbers"});
  a.boolean("flag", true, {"flag"});
  config.section("a.b.c").choice("deep", "x", {"x", "y"}, {"deep"});
  config.section("run").text("dir", "somewhere", {"run folder"});
}

TEST(ConfigTexts, TheResolvedTextLoadsAgainToTheSameTextAndHash) {
  for (const std::string text : {"plain", "", "with \"quotes\" and \\", "two\nlines\ttab\x01", "é: #x", "yes", "1e5"}) {
    Config first = Config::defaults();
    read_many(first, text);
    Config second = Config::parse(first.resolved_yaml(), "resolved.yaml");
    read_many(second, "another default");
    EXPECT_NO_THROW(second.finish());
    EXPECT_EQ(second.section("a").text("text", "", {"any text"}), text);
    EXPECT_EQ(second.resolved_yaml(), first.resolved_yaml());
    EXPECT_EQ(second.hash(), first.hash());
  }
}

TEST(ConfigTexts, AnyYamlReaderUnderstandsTheResolvedText) {
  Config config = Config::defaults();
  read_many(config, "12");
  const YAML::Node node = YAML::Load(config.resolved_yaml());
  EXPECT_EQ(node["a"]["b"]["c"]["deep"].as<std::string>(), "x");
  EXPECT_EQ(node["a"]["text"].Tag(), "!");  // quoted, so that it stays text
  EXPECT_EQ(node["a"]["numbers"][1].as<double>(), 1e-7);
}

TEST(ConfigTexts, TheHashIgnoresTheRunSectionAndTheOrderOfReading) {
  Config first = Config::defaults(Sets{"run.dir=elsewhere"});
  read_many(first, "t");
  Config second = Config::defaults();
  second.section("a.b.c").choice("deep", "x", {"x", "y"}, {"deep"});
  read_many(second, "t");
  EXPECT_EQ(first.hash(), second.hash());
  Config third = Config::defaults(Sets{"a.b.c.deep=y"});
  read_many(third, "t");
  EXPECT_NE(first.hash(), third.hash());
}

TEST(ConfigTexts, HelpNamesTypeDefaultUnitRangeAndMeaning) {
  Config config = Config::parse("warmup: {steps: 7}\n", "x.yaml");
  ConfigSection s = config.section("warmup");
  s.integer("steps", 600, {.meaning = "optimiser steps of stage 1", .unit = "steps", .min = 0});
  s.number("dropout", 0.5, {.meaning = "share of dropped values", .min = 0, .max = 1});
  s.choice("optimizer", "adam", {"adam", "muon"}, {.meaning = "update rule"});
  s.text("from", "", {.meaning = "start folder", .required = true});
  EXPECT_EQ(config.help(),
            "warmup\n"
            "  warmup.steps: integer, default 600 steps, at least 0\n      optimiser steps of stage 1\n"
            "  warmup.dropout: number, default 0.5, from 0 to 1\n      share of dropped values\n"
            "  warmup.optimizer: one of adam | muon, default adam\n      update rule\n"
            "  warmup.from: text, required\n      start folder\n");
}

}  // namespace
}  // namespace kc
