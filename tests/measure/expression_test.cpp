#include "measure/expression.h"

#include <gmock/gmock.h>

#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

TEST(Expression, EvaluatesOverNames) { EXPECT_EQ(evaluate("2 * M * N + 1", {{"M", 3}, {"N", 5}}), 31); }

TEST(Expression, TakesPercentAsTheRemainderWithThePrecedenceOfProducts) {
  EXPECT_EQ(evaluate("TILE % UNROLL == 0", {{"TILE", 12}, {"UNROLL", 4}}), 1);
  EXPECT_EQ(evaluate("1 + 7 % 4", {}), 4);
  EXPECT_ERROR(evaluate("5 % 0", {}), ErrorKind::bad_data, HasSubstr("division by zero"));
}

TEST(Expression, NamesTheExpressionAndTheFault) {
  EXPECT_ERROR(evaluate("M + ", {{"M", 1}}), ErrorKind::bad_data, HasSubstr("'M + '"));
  EXPECT_ERROR(evaluate("Q", {}), ErrorKind::bad_data, HasSubstr("Q"));
  EXPECT_ERROR(evaluate("1 / 0", {}), ErrorKind::bad_data, HasSubstr("not finite"));
}

TEST(Expression, RefusesValuesThatAreNotCounts) {
  EXPECT_EQ(evaluate_integer("N / 2", {{"N", 8}}, 1), 4);
  EXPECT_ERROR(evaluate_integer("N / 3", {{"N", 8}}, 1), ErrorKind::bad_data, HasSubstr("expected an integer"));
  EXPECT_ERROR(evaluate_integer("N - 8", {{"N", 8}}, 1), ErrorKind::bad_data, HasSubstr("at least 1"));
}

}  // namespace
}  // namespace kc::test
