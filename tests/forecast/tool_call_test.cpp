#include <gtest/gtest.h>

#include "forecast/parser.h"

namespace kc {
namespace {

std::string arguments(const std::string& bin = "5", const std::string& first = "0.1",
                      const std::string& reasoning = "\"Wider tiles.\"", const std::string& extra = "") {
  return "{\"predicted_bin\": " + bin + ", \"p_severe_slowdown\": " + first +
         ", \"p_significant_slowdown\": 0, \"p_moderate_slowdown\": 0, \"p_minor_slowdown\": 0.2, "
         "\"p_minor_speedup\": 0.3, \"p_significant_speedup\": 0.1, \"p_high_speedup\": 0.1, "
         "\"p_extreme_speedup\": 0.0, \"reasoning\": " +
         reasoning + extra + "}";
}

std::string call(const std::string& args) {
  return "<|channel|>analysis<|message|>submit_kernel_runtime_estimate comes next.<|end|><|start|>assistant"
         "<|channel|>commentary to=functions.submit_kernel_runtime_estimate <|constrain|>json<|message|>" +
         args + "<|call|>";
}

ParseOutcome outcome(const std::string& text, ParseRules rules = ParseRules::strict,
                     Completion completion = Completion::stopped) {
  const ParsedForecast parsed = parse_forecast(text, completion, WireFormat::tool, rules);
  return parsed ? ParseOutcome::ok : parsed.error().outcome;
}

TEST(ToolParser, ReadsAHarmonyCallAfterReasoning) {
  const ParsedForecast parsed = parse_forecast(call(arguments()), Completion::stopped, WireFormat::tool);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->predicted_bin, 5);
  EXPECT_NEAR(parsed->raw_sum, 0.8, 1e-12);
  EXPECT_NEAR(parsed->p[4], 0.375, 1e-12);
  EXPECT_EQ(parsed->reasoning, "Wider tiles.");
}

TEST(ToolParser, ReadsAPlainCall) {
  EXPECT_EQ(outcome("I think.\nsubmit_kernel_runtime_estimate(" + arguments() + ")"), ParseOutcome::ok);
  EXPECT_EQ(outcome("submit_kernel_runtime_estimate " + arguments("5", "0.1", "\"a } \\\" {\"")), ParseOutcome::ok);
}

TEST(ToolParser, NamesEveryFailure) {
  EXPECT_EQ(outcome("I will call submit_kernel_runtime_estimate"), ParseOutcome::no_call);
  EXPECT_EQ(outcome("<|channel|>final<|message|>" + arguments()), ParseOutcome::no_call);
  EXPECT_EQ(outcome(call(arguments()) + call(arguments())), ParseOutcome::two_calls);
  EXPECT_EQ(outcome(call("{\"predicted_bin\": ")), ParseOutcome::bad_json);
  EXPECT_EQ(outcome(call("")), ParseOutcome::bad_json);
  EXPECT_EQ(outcome(call("[1]")), ParseOutcome::wrong_type);
  EXPECT_EQ(outcome(call("{}")), ParseOutcome::missing_field);
  EXPECT_EQ(outcome(call(arguments("9"))), ParseOutcome::out_of_range);
  EXPECT_EQ(outcome(call(arguments("5", "1.2"))), ParseOutcome::out_of_range);
  EXPECT_EQ(outcome(call(arguments("5", "-0.1"))), ParseOutcome::out_of_range);
  EXPECT_EQ(outcome(call(arguments("5.5"))), ParseOutcome::wrong_type);
  EXPECT_EQ(outcome(call(arguments("5", "null"))), ParseOutcome::wrong_type);
  EXPECT_EQ(outcome(call(arguments("5", "0.1", "7"))), ParseOutcome::wrong_type);
  EXPECT_EQ(outcome(call(arguments("5", "0.1", "\" \\n\""))), ParseOutcome::empty_reasoning);
  EXPECT_EQ(outcome(call(arguments()), ParseRules::strict, Completion::truncated), ParseOutcome::no_stop);
  EXPECT_EQ(outcome("still thinking", ParseRules::strict, Completion::truncated), ParseOutcome::truncated);
}

TEST(ToolParser, ArgumentsThatAreNestedWithoutEndAreNoJson) {
  const std::string open(1'000'000, '['), close(1'000'000, ']');
  for (const ParseRules rules : {ParseRules::strict, ParseRules::published}) {
    for (const std::string& deep : {open, open + close}) {
      EXPECT_EQ(outcome(call(deep), rules), ParseOutcome::bad_json);
      EXPECT_EQ(outcome(call("{\"predicted_bin\": " + deep + "}"), rules), ParseOutcome::bad_json);
      EXPECT_EQ(outcome(call(arguments("5", "0.1", "\"x\"", ", \"more\": " + deep)), rules), ParseOutcome::bad_json);
      EXPECT_EQ(outcome("submit_kernel_runtime_estimate({\"predicted_bin\": " + deep + "})", rules),
                ParseOutcome::bad_json);
    }
  }
}

TEST(ToolParser, AllZeroProbabilitiesFail) {
  std::string zero = "{\"predicted_bin\": 4, \"reasoning\": \"x\"";
  for (Bin b = 1; b <= kBins; ++b) zero += ", \"p_" + std::string(bin_name(b)) + "\": 0";
  EXPECT_EQ(outcome(call(zero + "}")), ParseOutcome::all_zero);
}

TEST(ToolParser, PublishedRulesAcceptNumericStringsAndExtraKeys) {
  const std::string strings = call(arguments("\"5\"", "\" 0.1 \""));
  EXPECT_EQ(outcome(strings), ParseOutcome::wrong_type);
  EXPECT_EQ(outcome(strings, ParseRules::published), ParseOutcome::ok);
  const std::string extra = call(arguments("5", "0.1", "\"x\"", ", \"note\": 1"));
  EXPECT_EQ(outcome(extra), ParseOutcome::wrong_type);
  EXPECT_EQ(outcome(extra, ParseRules::published), ParseOutcome::ok);
  EXPECT_EQ(outcome(call(arguments("5.0"))), ParseOutcome::wrong_type);
  EXPECT_EQ(outcome(call(arguments("5.0")), ParseRules::published), ParseOutcome::ok);
  EXPECT_EQ(outcome(call(arguments("\"five\"")), ParseRules::published), ParseOutcome::wrong_type);
  EXPECT_EQ(outcome(call(arguments("\"nan\"")), ParseRules::published), ParseOutcome::out_of_range);
}

}  // namespace
}  // namespace kc
