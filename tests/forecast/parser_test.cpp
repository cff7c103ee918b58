#include "forecast/parser.h"

#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "base/error.h"
#include "base/rng.h"

namespace kc {
namespace {

const std::array<int, kBins> kSteps = {0, 0, 1, 4, 10, 4, 1, 0};

ParseOutcome outcome(const std::string& text, WireFormat wire = WireFormat::compact,
                     Completion completion = Completion::stopped) {
  const ParsedForecast parsed = parse_forecast(text, completion, wire);
  return parsed ? ParseOutcome::ok : parsed.error().outcome;
}

std::string probabilities(int count, int step = 2) {
  std::string text;
  for (int i = 0; i < count; ++i) text += probability_piece(step);
  return text;
}

TEST(CompactParser, ReadsWhatCompactTextWrites) {
  const ParsedForecast parsed = parse_forecast(compact_text(5, kSteps), Completion::stopped, WireFormat::compact);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->predicted_bin, 5);
  EXPECT_DOUBLE_EQ(parsed->raw_sum, 1);
  EXPECT_DOUBLE_EQ(parsed->p[4], 0.5);
  EXPECT_EQ(probability_steps(parsed->p), kSteps);
}

TEST(CompactParser, RenormalisesAndKeepsTheRawSum) {
  const ParsedForecast parsed =
      parse_forecast(bin_piece(1) + probabilities(8, 5), Completion::stopped, WireFormat::compact);
  ASSERT_TRUE(parsed);
  EXPECT_DOUBLE_EQ(parsed->raw_sum, 2);
  for (const double p : parsed->p) EXPECT_DOUBLE_EQ(p, 0.125);
}

TEST(CompactParser, NamesEveryFailure) {
  EXPECT_EQ(outcome(""), ParseOutcome::no_call);
  EXPECT_EQ(outcome("words"), ParseOutcome::no_call);
  EXPECT_EQ(outcome(probabilities(8)), ParseOutcome::no_call);
  EXPECT_EQ(outcome("x" + bin_piece(3) + probabilities(8)), ParseOutcome::wrong_type);
  EXPECT_EQ(outcome(bin_piece(3) + probabilities(4) + bin_piece(3)), ParseOutcome::wrong_type);
  EXPECT_EQ(outcome(bin_piece(3) + probabilities(4) + "0.5"), ParseOutcome::wrong_type);
  EXPECT_EQ(outcome(bin_piece(3) + probabilities(7)), ParseOutcome::missing_field);
  EXPECT_EQ(outcome(bin_piece(3) + probabilities(9)), ParseOutcome::wrong_type);
  EXPECT_EQ(outcome(bin_piece(3) + probabilities(8) + bin_piece(3)), ParseOutcome::two_calls);
  EXPECT_EQ(outcome(bin_piece(3) + probabilities(8, 0)), ParseOutcome::all_zero);
  EXPECT_EQ(outcome(bin_piece(9) + probabilities(8)), ParseOutcome::out_of_range);
  EXPECT_EQ(outcome(bin_piece(3) + probabilities(7) + "<|p_21|>"), ParseOutcome::out_of_range);
  EXPECT_EQ(outcome(bin_piece(3) + "<|p_99999999999|>"), ParseOutcome::wrong_type);
}

TEST(CompactParser, TellsACutAnswerFromOneThatDoesNotStop) {
  const std::string whole = bin_piece(3) + probabilities(8);
  EXPECT_EQ(outcome(whole, WireFormat::compact, Completion::truncated), ParseOutcome::no_stop);
  EXPECT_EQ(outcome(whole + probabilities(5), WireFormat::compact, Completion::truncated), ParseOutcome::no_stop);
  EXPECT_EQ(outcome(bin_piece(3), WireFormat::compact, Completion::truncated), ParseOutcome::truncated);
  EXPECT_EQ(outcome("", WireFormat::compact, Completion::truncated), ParseOutcome::truncated);
}

TEST(DirectParser, ReadsOneBin) {
  const ParsedForecast parsed = parse_forecast(bin_piece(7), Completion::truncated, WireFormat::direct);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->p, one_hot(7));
  EXPECT_EQ(outcome(bin_piece(7) + std::string(kStopPiece), WireFormat::direct), ParseOutcome::ok);
  EXPECT_EQ(outcome("", WireFormat::direct), ParseOutcome::no_call);
  EXPECT_EQ(outcome(bin_piece(0), WireFormat::direct), ParseOutcome::out_of_range);
  EXPECT_EQ(outcome(bin_piece(7) + bin_piece(7), WireFormat::direct), ParseOutcome::two_calls);
  EXPECT_EQ(outcome(bin_piece(7) + "x", WireFormat::direct), ParseOutcome::wrong_type);
}

TEST(ProbabilitySteps, SumToTwentyAndStayWithinOneStep) {
  RngStream rng(8);
  for (int trial = 0; trial < 5000; ++trial) {
    Probabilities p;
    double sum = 0;
    for (double& x : p) sum += x = rng.uniform() * rng.uniform();
    const auto steps = probability_steps(p);
    int total = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      total += steps[i];
      ASSERT_LT(std::abs(steps[i] - 20 * p[i] / sum), 1);
    }
    ASSERT_EQ(total, 20);
  }
  EXPECT_EQ(probability_steps(uniform_probabilities()), (std::array<int, kBins>{3, 3, 3, 3, 2, 2, 2, 2}));
  EXPECT_EQ(probability_steps(one_hot(2)), (std::array<int, kBins>{0, 20, 0, 0, 0, 0, 0, 0}));
}

TEST(ProbabilitySteps, RefuseWhatIsNoDistribution) {
  EXPECT_THROW(probability_steps(Probabilities{}), Error);
  EXPECT_THROW(probability_steps(Probabilities{-1, 2}), Error);
  EXPECT_THROW(probability_steps(Probabilities{std::nan(""), 2}), Error);
}

}  // namespace
}  // namespace kc
