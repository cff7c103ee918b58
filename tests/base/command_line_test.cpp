#include "base/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/temp_folder.h"

namespace kc {
namespace {

using test::TempFolder;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

Outcome run(CommandLine& line, std::vector<std::string> arguments, const std::function<int()>& action = {}) {
  arguments.insert(arguments.begin(), "program");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Outcome outcome;
  outcome.code = line.run(static_cast<int>(arguments.size()), argv.data(), action);
  outcome.out = ::testing::internal::GetCapturedStdout();
  outcome.err = ::testing::internal::GetCapturedStderr();
  return outcome;
}

CommandLine program(bool with_config = false) {
  return {"train", "Trains.", "train --config x.yaml\ntrain", with_config};
}

int succeed() { return 0; }

TEST(CommandLine, FillsOptionsOfEveryType) {
  CommandLine line = program();
  std::string out;
  std::int64_t count = 5;
  double share = 0.5;
  bool fast = false;
  std::vector<std::string> tags;
  std::vector<std::string> files;
  line.option("--out,-o", out, "output").option("--count", count, "count").option("--share", share, "share");
  line.flag("--fast", fast, "fast").option("--tag", tags, "tags").option("files", files, "files");
  const Outcome outcome =
      run(line, {"-o", "x", "--count=-7", "--tag", "a", "one", "--tag", "b", "two", "--fast"}, succeed);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(out, "x");
  EXPECT_EQ(count, -7);
  EXPECT_EQ(share, 0.5);
  EXPECT_TRUE(fast);
  EXPECT_THAT(tags, ElementsAre("a", "b"));
  EXPECT_THAT(files, ElementsAre("one", "two"));
}

TEST(CommandLine, ARequiredTextSaysSomething) {
  CommandLine line = program();
  std::string out, note;
  line.option("--out", out, "output", true).option("--note", note, "note");
  const Outcome refused = run(line, {"--out", ""}, succeed);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("--out"), HasSubstr("empty")));
  EXPECT_EQ(run(line, {"--out", "x", "--note", ""}, succeed).code, 0);
}

TEST(CommandLine, HelpShowsExamplesAndExitCodesWithoutRunning) {
  CommandLine line = program(true);
  const Outcome outcome = run(line, {"--help"}, [] { return 77; });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("Trains."), HasSubstr("Examples:\n  train --config x.yaml\n  train\n"),
                                 HasSubstr("--set"), HasSubstr("Exit codes: 0 done")));
}

TEST(CommandLine, VersionNamesCommitLibTorchAndCompiler) {
  CommandLine line = program();
  const Outcome outcome = run(line, {"--version"}, [] { return 77; });
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.out, AllOf(HasSubstr("commit "), HasSubstr("LibTorch "), HasSubstr("compiler ")));
}

TEST(CommandLine, UsageErrorsAreOneMessageAndExitCode2) {
  CommandLine line = program(true);
  std::int64_t count = 0;
  line.option("--count", count, "count", true);
  Outcome outcome = run(line, {"--cuont", "3"}, succeed);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, AllOf(StartsWith("train: unknown argument '--cuont'; did you mean '--count'?"),
                                 HasSubstr("train --help")));
  outcome = run(line, {"--count", "many"}, succeed);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("many"));
  outcome = run(line, {}, succeed);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, HasSubstr("--count"));
}

TEST(CommandLine, EveryErrorKindHasItsExitCode) {
  const std::vector<std::pair<ErrorKind, int>> codes = {
      {ErrorKind::check_failed, 1}, {ErrorKind::usage, 2},         {ErrorKind::config, 2},   {ErrorKind::bad_data, 3},
      {ErrorKind::environment, 3},  {ErrorKind::interrupted, 130}, {ErrorKind::internal, 70}};
  for (const auto& [kind, code] : codes) {
    CommandLine line = program();
    const Outcome outcome = run(line, {}, [thrown = kind]() -> int { throw Error(thrown, "what happened"); });
    EXPECT_EQ(outcome.code, code);
    EXPECT_EQ(outcome.err, "train: what happened\n");
  }
}

TEST(CommandLine, OtherExceptionsAreInternalErrorsOfOneLine) {
  CommandLine line = program();
  const Outcome outcome = run(line, {}, []() -> int { throw std::runtime_error("first\nbacktrace"); });
  EXPECT_EQ(outcome.code, 70);
  EXPECT_EQ(outcome.err, "train: internal error: first\n");
  EXPECT_EQ(run(line, {}, []() -> int { throw std::bad_alloc(); }).code, 3);
  const auto list_nowhere = [] {
    return std::filesystem::directory_iterator("/nowhere") == std::filesystem::directory_iterator();
  };
  EXPECT_EQ(run(line, {}, list_nowhere).code, 3);
}

TEST(CommandLine, ReturnsTheCodeOfTheAction) {
  CommandLine line = program();
  EXPECT_EQ(run(line, {}, [] { return 1; }).code, 1);
}

TEST(CommandLine, RunsTheChosenSubcommandWithItsOwnOptions) {
  CommandLine line("measure", "Measures.", "measure label", false);
  std::string out;
  CommandLine& label =
      line.subcommand("label", "Labels.", "measure label --out x", true, [&] { return out == "x" ? 0 : 1; });
  label.option("--out", out, "output", true);
  line.subcommand("verify", "Verifies.", "measure verify", false, [] { return 42; });
  EXPECT_EQ(run(line, {"label", "--out", "x", "--json", "--set", "a.b=1", "--set", "a.c=2"}).code, 0);
  EXPECT_TRUE(label.common().json);
  EXPECT_THAT(label.common().sets, ElementsAre("a.b=1", "a.c=2"));
  EXPECT_EQ(run(line, {"verify"}).code, 42);
}

TEST(CommandLine, AWrongOrMissingSubcommandIsAUsageError) {
  CommandLine line("measure", "Measures.", "measure label", false);
  line.subcommand("label", "Labels.", "measure label", false, succeed);
  Outcome outcome = run(line, {"labl"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, StartsWith("measure: unknown argument 'labl'; did you mean 'label'?"));
  EXPECT_EQ(run(line, {}).code, 2);
  outcome = run(line, {"label", "--jsn"});
  EXPECT_THAT(outcome.err, StartsWith("measure label: unknown argument '--jsn'; did you mean '--json'?"));
  EXPECT_THAT(run(line, {"label", "--help"}).out, AllOf(HasSubstr("Labels."), HasSubstr("Examples:\n  measure label")));
}

int use_config(CommandLine& line) {
  Config config = load_config(line.common());
  config.section("warmup").integer("steps", 600, {.meaning = "optimiser steps"});
  return show_config(line.common(), config) ? 0 : 9;
}

TEST(CommandLine, ConfigOptionsLoadPrintAndExplain) {
  const TempFolder folder;
  const std::string file = folder.write("x.yaml", "warmup: {steps: 3}\n");
  const auto with = [&](const std::vector<std::string>& arguments) {
    CommandLine line = program(true);
    return run(line, arguments, [&line] { return use_config(line); });
  };
  EXPECT_EQ(with({"--config", file}).code, 9);
  EXPECT_EQ(with({"--config", file, "--print-config"}).out, "warmup:\n  steps: 3\n");
  EXPECT_EQ(with({"--set", "warmup.steps=4", "--print-config"}).out, "warmup:\n  steps: 4\n");
  EXPECT_THAT(with({"--help-config"}).out, HasSubstr("warmup.steps: integer, default 600"));
  const Outcome misspelt = with({"--config", file, "--set", "warmup.stesp=4", "--print-config"});
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_EQ(misspelt.out, "");
  EXPECT_THAT(misspelt.err, HasSubstr("did you mean 'warmup.steps'?"));
}

}  // namespace
}  // namespace kc
