#include "forecast/prompt.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "base/error.h"

namespace kc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

PromptTemplate own_template() {
  return PromptTemplate::load(std::filesystem::path(KC_SOURCE_DIR) / "configs/prompts/default.txt");
}

PromptTemplate from_text(const std::string& text) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "kc_prompt_test.txt";
  std::ofstream(path) << text;
  return PromptTemplate::load(path);
}

Hardware some_gpu() {
  return {.device = "NVIDIA X",
          .compute_capability = "8.0",
          .global_memory_gb = 40,
          .multiprocessors = 108,
          .max_threads_per_multiprocessor = 2048,
          .clock_ghz = 1.41,
          .memory_clock_ghz = 1.215,
          .memory_bus_bits = 5120,
          .is_cpu = false};
}

PromptRequest two_instances() {
  return {"gemm",
          {"cuda", "t", "code();\n", {{"TILE", "16"}, {"UNROLL", "1"}}},
          {"cuda", "t", "code();\n", {{"TILE", "32"}, {"UNROLL", "1"}}},
          some_gpu()};
}

TEST(Prompt, ShortDiffOfTwoInstancesIsTwoBlocksOfTunables) {
  const Prompt prompt = own_template().render(two_instances(), PromptStyle::diff, WireFormat::compact);
  EXPECT_EQ(prompt.system, "");
  EXPECT_EQ(prompt.user,
            "gemm\ngpu 108 2048 1410 1215 5120\nreference\nTILE 16\nUNROLL 1\ncandidate\nTILE 32\nUNROLL 1\n");
}

TEST(Prompt, DiffOfTwoSourcesShowsWhatDiffersWithoutComments) {
  PromptRequest request = two_instances();
  request.reference = {"cpp", "a", "int x;\nslow(); // why\nint y;\n", {}};
  request.candidate = {"cpp", "b", "int x; // first\nfast();\nint y;\n", {{"N", "4"}}};
  const Prompt prompt = own_template().render(request, PromptStyle::diff, WireFormat::direct);
  EXPECT_THAT(prompt.user, HasSubstr("reference\nslow();\ncandidate\nN 4\nfast();\n"));
}

TEST(Prompt, DiffBlocksAreLimitedInLinesAndLength) {
  PromptRequest request = two_instances();
  std::string many;
  for (int i = 0; i < 100; ++i) many += "line" + std::to_string(i) + ";\n";
  request.reference = {"cpp", "a", many, {}};
  request.candidate = {"cpp", "b", std::string(1000, 'x') + "\n", {}};
  const std::string text = own_template().render(request, PromptStyle::diff, WireFormat::compact).user;
  EXPECT_THAT(text, AllOf(HasSubstr("line23;\n...\ncandidate"), Not(HasSubstr("line24;"))));
  EXPECT_THAT(text, HasSubstr(std::string(kDiffLineBytes, 'x') + "...\n"));
  EXPECT_THAT(text, Not(HasSubstr(std::string(kDiffLineBytes + 1, 'x'))));
}

TEST(Prompt, EqualTextsStillGiveTwoBlocks) {
  PromptRequest request = two_instances();
  request.reference = request.candidate = {"cpp", "a", "x", {}};
  const Prompt prompt = own_template().render(request, PromptStyle::diff, WireFormat::compact);
  EXPECT_THAT(prompt.user, HasSubstr("reference\nnone\ncandidate\nnone\n"));
}

TEST(Prompt, LongFormHoldsBinsHardwareAndFencedSources) {
  const Prompt prompt = own_template().render(two_instances(), PromptStyle::full, WireFormat::tool);
  EXPECT_THAT(prompt.system, AllOf(HasSubstr("| 3 | moderate_slowdown | above 0.5, up to 0.7071 |"),
                                   HasSubstr("| 5 | minor_speedup | above 1, up to 1.4142 |"),
                                   HasSubstr("| 8 | extreme_speedup | above 4 |"),
                                   HasSubstr("submit_kernel_runtime_estimate"), Not(HasSubstr("{"))));
  EXPECT_THAT(prompt.user, AllOf(HasSubstr("Task: gemm\n"), HasSubstr("| Memory clock (GHz) | 1.22 |"),
                                 HasSubstr("```cuda\n#define TILE 16\n#define UNROLL 1\ncode();\n```\n")));
}

TEST(Prompt, SourcesCannotCloseTheirFenceOrReachPlaceholders) {
  PromptRequest request = two_instances();
  request.reference = {"cpp", "a", "// ```\n{candidate} {task}", {}};
  const Prompt prompt = own_template().render(request, PromptStyle::full, WireFormat::tool);
  EXPECT_THAT(prompt.user, HasSubstr("````cpp\n// ```\n{candidate} {task}\n````\n"));
}

TEST(Prompt, NamesCannotBreakLines) {
  PromptRequest request = two_instances();
  request.task = "a\ncandidate\n";
  EXPECT_THAT(own_template().render(request, PromptStyle::diff, WireFormat::compact).user,
              ::testing::StartsWith("a candidate \ngpu 108"));
}

TEST(PromptTemplate, HashFollowsTheFile) {
  const std::string text = "[system]\na\n[user]\nb\n[short]\nc {task}\n";
  EXPECT_EQ(from_text(text).hash(), from_text(text).hash());
  EXPECT_NE(from_text(text).hash(), from_text("# note\n" + text).hash());
  EXPECT_EQ(from_text(text).render(two_instances(), PromptStyle::diff, WireFormat::compact).user, "c gemm\n");
}

TEST(PromptTemplate, RefusesFaults) {
  EXPECT_THROW(from_text("[system]\na\n[user]\nb\n"), Error);
  EXPECT_THROW(from_text("[system]\na\n[user]\nb\n[short]\n{taks}\n"), Error);
  EXPECT_THROW(from_text("[system]\na\n[system]\na\n[user]\nb\n[short]\nc\n"), Error);
  EXPECT_THROW(from_text("[sistem]\na\n[user]\nb\n[short]\nc\n"), Error);
  EXPECT_THROW(from_text(""), Error);
  EXPECT_THROW(PromptTemplate::load("/nonexistent"), Error);
}

TEST(PromptNames, GoBothWays) {
  for (const char* name : {"direct", "compact", "tool"}) EXPECT_EQ(name_of(wire_format_of(name)), name);
  for (const char* name : {"full", "diff"}) EXPECT_EQ(name_of(prompt_style_of(name)), name);
  EXPECT_THROW(wire_format_of("telex"), Error);
  EXPECT_THROW(prompt_style_of("long"), Error);
}

}  // namespace
}  // namespace kc
