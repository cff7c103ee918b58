// The program `checkpoint` as a user meets it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"
#include "tests/weights/folders.h"
#include "tests/weights/published.h"

namespace kc {
namespace {

using test::run_program;
using testing::HasSubstr;

TEST(CheckpointProgram, CountsThePublishedModels) {
  for (const auto& [layers, experts, parameters, text] :
       {std::tuple{24, 32, 20'914'757'184, "20,914,757,184"}, {36, 128, 116'829'156'672, "116,829,156,672"}}) {
    const test::TempFolder folder;
    test::write_sparse_folder(folder.path(), test::published_config(layers, experts), 3);
    const auto table =
        run_program({.program = "checkpoint", .arguments = {"inspect", "--model", folder.path().string()}});
    EXPECT_EQ(table.exit_code, 0) << table.err;
    EXPECT_THAT(table.out, HasSubstr(text));
    const auto json =
        run_program({.program = "checkpoint", .arguments = {"inspect", "--model", folder.path().string(), "--json"}});
    EXPECT_EQ(nlohmann::json::parse(json.out)["parameters"], parameters);
  }
}

TEST(CheckpointProgram, VerifiesAndConverts) {
  const test::TempFolder folder;
  const GptOssConfig config = test::tiny_config(ExpertStorage::mxfp4);
  test::write_folder(folder / "packed", config, test::random_tensors(config, 1));
  const std::string packed = (folder / "packed").string(), out = (folder / "out").string();
  const auto sound = run_program({.program = "checkpoint", .arguments = {"verify", "--model", packed}});
  EXPECT_EQ(sound.exit_code, 0) << sound.err;
  EXPECT_THAT(sound.out, HasSubstr("sound"));
  const auto converted = run_program(
      {.program = "checkpoint", .arguments = {"convert", "--model", packed, "--out", out, "--experts", "bf16"}});
  EXPECT_EQ(converted.exit_code, 0) << converted.err;
  EXPECT_TRUE(std::filesystem::exists(folder / "out/model.safetensors"));
  test::patch(folder / "out/model.safetensors", "model.norm.weight", 0, {0xFF, 0xFF});
  const auto damaged = run_program({.program = "checkpoint", .arguments = {"verify", "--model", out, "--json"}});
  EXPECT_EQ(damaged.exit_code, 1) << damaged.err;
  EXPECT_EQ(nlohmann::json::parse(damaged.out)["problems"].size(), 2U);
}

// As on a full disk: one message, and nothing is left of the result.
TEST(CheckpointProgram, AFileBeyondTheSizeLimitLeavesNothingBehind) {
  const test::TempFolder folder;
  const GptOssConfig config = test::tiny_config(ExpertStorage::mxfp4);
  test::write_folder(folder / "packed", config, test::random_tensors(config, 1));
  const std::size_t before = folder.count();
  const auto result = run_program(
      {.program = "checkpoint",
       .arguments = {"convert", "--model", (folder / "packed").string(), "--out", (folder / "out").string()},
       .file_size_limit = 20'000});
  EXPECT_EQ(result.exit_code, 3) << result.err;
  EXPECT_THAT(result.err, HasSubstr("model.safetensors"));
  EXPECT_EQ(folder.count(), before);
}

// JSON holds UTF-8 alone: such a name was an internal error, of `convert` after all of its work.
TEST(CheckpointProgram, NamesFilesThatAreNotUtf8) {
  const test::TempFolder folder;
  const GptOssConfig config = test::tiny_config(ExpertStorage::mxfp4);
  test::write_original(folder / "original", config, test::random_tensors(config, 1));
  const std::string model = (folder / "original").string();
  std::filesystem::rename(folder / "original/model.safetensors", folder / "original/a\xff.safetensors");
  const auto inspected = run_program({.program = "checkpoint", .arguments = {"inspect", "--model", model, "--json"}});
  EXPECT_EQ(inspected.exit_code, 0) << inspected.err;
  EXPECT_EQ(nlohmann::json::parse(inspected.out)["files"][0]["name"], "a\\xff.safetensors");
  const auto converted =
      run_program({.program = "checkpoint",
                   .arguments = {"convert", "--model", model, "--out", (folder / "out\xff").string(), "--json"}});
  EXPECT_EQ(converted.exit_code, 0) << converted.err;
  std::filesystem::resize_file(folder / "original/a\xff.safetensors", 100);
  const auto verified = run_program({.program = "checkpoint", .arguments = {"verify", "--model", model, "--json"}});
  EXPECT_EQ(verified.exit_code, 1) << verified.err;
  EXPECT_THAT(nlohmann::json::parse(verified.out)["problems"].dump(), HasSubstr("xff.safetensors"));
}

TEST(CheckpointProgram, RefusesWhatItCannotRead) {
  const test::TempFolder folder;
  for (const char* command : {"inspect", "verify"}) {
    const auto result =
        run_program({.program = "checkpoint", .arguments = {command, "--model", (folder / "none").string()}});
    EXPECT_EQ(result.exit_code, 3) << result.err;
    EXPECT_THAT(result.err, HasSubstr("config.json"));
  }
  const auto unknown = run_program(
      {.program = "checkpoint", .arguments = {"convert", "--model", "a", "--out", "b", "--experts", "int4"}});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("int4"));
}

}  // namespace
}  // namespace kc
