// Any bytes at all give a value, and every value is a sound one.
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "forecast/parser.h"

namespace kc {
namespace {

std::vector<std::string> fragments() {
  std::vector<std::string> parts = {std::string(kStopPiece),
                                    std::string(kAnswerPiece),
                                    "<|message|>",
                                    "<|call|>",
                                    "<|end|>",
                                    "<|start|>",
                                    "submit_kernel_runtime_estimate",
                                    "{",
                                    "}",
                                    "\"",
                                    ":",
                                    ",",
                                    "[",
                                    "\\",
                                    "predicted_bin",
                                    "reasoning",
                                    "\"reasoning\":\"x\"",
                                    "1e999",
                                    "-0",
                                    "0.5",
                                    "null",
                                    "\xff",
                                    "<|bin_",
                                    "<|p_",
                                    "|>",
                                    "<|",
                                    std::string(1, '\0')};
  for (Bin b = 0; b <= 9; ++b) parts.push_back(bin_piece(b));
  for (int s = 0; s <= 21; ++s) parts.push_back(probability_piece(s));
  for (Bin b = 1; b <= kBins; ++b) parts.push_back("\"p_" + std::string(bin_name(b)) + "\":0.125,");
  return parts;
}

std::string random_text(RngStream& rng, const std::vector<std::string>& parts) {
  std::string text;
  const std::uint64_t length = rng.below(16);
  for (std::uint64_t i = 0; i < length; ++i) {
    if (rng.below(4) == 0) {
      text += static_cast<char>(rng.below(256));
    } else {
      text += parts[rng.below(parts.size())];
    }
  }
  return text;
}

// A valid answer with a few bytes changed reaches deeper than random text.
std::string damaged_answer(RngStream& rng) {
  std::string text = rng.below(2) == 0 ? compact_text(static_cast<Bin>(1 + rng.below(8)), {1, 2, 3, 4, 5, 5, 0, 0})
                                       : "submit_kernel_runtime_estimate{\"predicted_bin\":3,\"reasoning\":\"x\"";
  if (text[0] == 's') {
    for (Bin b = 1; b <= kBins; ++b) text += ",\"p_" + std::string(bin_name(b)) + "\":0.125";
    text += "}";
  }
  for (std::uint64_t edits = rng.below(3); edits > 0; --edits) {
    text[rng.below(text.size())] = static_cast<char>(rng.below(256));
  }
  return text;
}

void check(const ParsedForecast& parsed) {
  if (!parsed) {
    ASSERT_NE(parsed.error().outcome, ParseOutcome::ok);
    return;
  }
  ASSERT_GE(parsed->predicted_bin, 1);
  ASSERT_LE(parsed->predicted_bin, kBins);
  ASSERT_GT(parsed->raw_sum, 0);
  ASSERT_NEAR(std::accumulate(parsed->p.begin(), parsed->p.end(), 0.0), 1, 1e-9);
  for (const double p : parsed->p) ASSERT_TRUE(p >= 0 && p <= 1);
}

TEST(Parser, IsTotal) {
  const std::vector<std::string> parts = fragments();
  RngStream rng(2024);
  int parsed_count = 0;
  for (int trial = 0; trial < 200000; ++trial) {
    const std::string text = trial % 2 == 0 ? random_text(rng, parts) : damaged_answer(rng);
    const auto completion = rng.below(8) == 0 ? Completion::truncated : Completion::stopped;
    for (const WireFormat wire : {WireFormat::direct, WireFormat::compact, WireFormat::tool}) {
      const ParseRules rules = rng.below(2) == 0 ? ParseRules::strict : ParseRules::published;
      const ParsedForecast parsed = parse_forecast(text, completion, wire, rules);
      check(parsed);
      if (HasFatalFailure()) FAIL() << "input " << trial;
      parsed_count += parsed ? 1 : 0;
    }
  }
  EXPECT_GT(parsed_count, 10000) << "the inputs must reach the accepting paths too";
}

TEST(Parser, SurvivesDeepNestingAndHugeTexts) {
  const std::string name(kToolName);
  check(parse_forecast(name + std::string(200000, '{'), Completion::stopped, WireFormat::tool));
  check(parse_forecast(name + "{\"a\":" + std::string(100000, '['), Completion::stopped, WireFormat::tool));
  std::string nested = "<|channel|>" + name + "<|message|>" + std::string(100000, '[') + std::string(100000, ']');
  check(parse_forecast(nested, Completion::stopped, WireFormat::tool));
  std::string repeated;
  for (int i = 0; i < 20000; ++i) repeated += name + "{";
  check(parse_forecast(repeated, Completion::stopped, WireFormat::tool));
}

}  // namespace
}  // namespace kc
