#include "measure/rounding_model.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "base/rng.h"
#include "measure/reference/rounded_number.h"

namespace kc::test {
namespace {

using Real = RoundedNumber<double>;
using WideReal = RoundedNumber<long double>;

constexpr float kTenth = 0.1F;

double normal(RngStream& rng) {
  const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
  return radius * std::cos(2 * 3.14159265358979 * rng.uniform());
}

std::vector<float> normals(RngStream& rng, std::size_t count, double mean = 0) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(mean + normal(rng));
  return values;
}

// Over many draws: the errors of a kernel in float, in standard errors of the model.
struct Errors {
  double root_mean_square = 0;
  double largest = 0;
};

Errors errors_of(const std::function<Real(std::span<const float>)>& reference,
                 const std::function<float(std::span<const float>)>& kernel, std::size_t terms, double mean = 0,
                 const std::function<void(std::vector<float>&)>& change = {}) {
  constexpr int kDraws = 2000;
  RngStream rng(7);
  Errors errors;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<float> values = normals(rng, terms, mean);
    if (change) change(values);
    const Real expected = reference(values);
    const double error = (double{kernel(values)} - expected.value) / std::sqrt(expected.variance());
    errors.root_mean_square += error * error / kDraws;
    errors.largest = std::max(errors.largest, std::fabs(error));
  }
  errors.root_mean_square = std::sqrt(errors.root_mean_square);
  return errors;
}

template <class Number>
Number sum_of(std::span<const float> values) {
  Number sum = 0;
  for (const float value : values) sum += value;
  return sum;
}

float strided_sum(std::span<const float> values) {
  float lanes[8] = {};
  for (std::size_t i = 0; i < values.size(); ++i) lanes[i % 8] += values[i];
  return sum_of<float>(lanes);
}

float sum_with_few_digits(std::span<const float> values) {
  float sum = 0;
  for (const float value : values) sum += static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(value, 11)), -11));
  return sum;
}

// The model is an upper estimate of the right size: an honest kernel errs by a tenth to about all of it.
MATCHER(IsAnHonestError,  // NOLINT(readability-identifier-naming): gmock makes a function of it
        "errs by .1 to 1.1 standard errors in the root mean square, by less than 6 at most") {
  *result_listener << "rms " << arg.root_mean_square << ", at most " << arg.largest;
  return arg.root_mean_square > 0.1 && arg.root_mean_square < 1.1 && arg.largest < 6;
}

TEST(RoundingModel, PredictsTheErrorsOfSums) {
  EXPECT_THAT(errors_of(sum_of<Real>, sum_of<float>, 1000), IsAnHonestError());
  EXPECT_THAT(errors_of(sum_of<Real>, sum_of<float>, 1000, 3), IsAnHonestError());
}

TEST(RoundingModel, AllowsForOtherOrdersOfASum) {
  EXPECT_LT(errors_of(sum_of<Real>, strided_sum, 1000).largest, 6);
  // Neighbours that cancel: in the reference's order every partial sum is tiny, in others it is not.
  const auto cancel = [](std::vector<float>& values) {
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) values[i + 1] = -values[i] * 1.001F;
  };
  EXPECT_LT(errors_of(sum_of<Real>, strided_sum, 1000, 0, cancel).largest, 6);
  EXPECT_THAT(errors_of(sum_of<Real>, sum_with_few_digits, 1000, 0, cancel).root_mean_square, testing::Gt(50));
  // The largest first or last: first, every later addition rounds at its size.
  const auto ascend = [](std::vector<float>& values) { values.back() *= 1000; };
  const auto backwards = [](std::span<const float> values) {
    float sum = 0;
    for (std::size_t i = values.size(); i-- > 0;) sum += values[i];
    return sum;
  };
  EXPECT_THAT(errors_of(sum_of<Real>, backwards, 1000, 0, ascend), IsAnHonestError());
}

TEST(RoundingModel, FindsOperandsOfHalfTheDigits) {
  EXPECT_GT(errors_of(sum_of<Real>, sum_with_few_digits, 64).root_mean_square, 100);
}

TEST(RoundingModel, PredictsTheErrorsOfDotProducts) {
  const auto dot = []<class Number>(std::span<const float> values, Number sum) {
    for (std::size_t i = 0; i + 1 < values.size(); i += 2) sum += Number(values[i]) * Number(values[i + 1]);
    return sum;
  };
  EXPECT_THAT(
      errors_of([&](auto values) { return dot(values, Real(0)); }, [&](auto values) { return dot(values, 0.0F); }, 256),
      IsAnHonestError());
}

TEST(RoundingModel, PredictsTheErrorsOfAQuotientOfSumsOfExponentials) {
  const auto first_weight = []<class Number>(std::span<const float> values, Number sum) {
    using std::exp;
    for (const float value : values) sum += exp(Number(value) - Number(4));
    return exp(Number(values[0]) - Number(4)) / sum;
  };
  const Errors errors = errors_of([&](auto values) { return first_weight(values, Real(0)); },
                                  [&](auto values) { return first_weight(values, 0.0F); }, 64);
  EXPECT_GT(errors.root_mean_square,
            0.05);  // the model allows for two units of an exponential, glibc needs half of one
  EXPECT_LT(errors.largest, 4);
}

TEST(RoundingModel, DerivativesCarryErrorsThroughEveryFunction) {
  using F = Real (*)(const Real&);
  const struct {
    const char* name;
    F function;
    double at, value, slope;
  } functions[] = {
      {"sqrt", [](const Real& x) { return sqrt(x); }, 4, 2, 0.25},
      {"exp", [](const Real& x) { return exp(x); }, 1, std::exp(1.0), std::exp(1.0)},
      {"exp2", [](const Real& x) { return exp2(x); }, 3, 8, 8 * std::log(2.0)},
      {"expm1", [](const Real& x) { return expm1(x); }, 1, std::expm1(1.0), std::exp(1.0)},
      {"log", [](const Real& x) { return log(x); }, 2, std::log(2.0), 0.5},
      {"log2", [](const Real& x) { return log2(x); }, 8, 3, 1 / (8 * std::log(2.0))},
      {"log1p", [](const Real& x) { return log1p(x); }, 1, std::log(2.0), 0.5},
      {"sin", [](const Real& x) { return sin(x); }, 1, std::sin(1.0), std::cos(1.0)},
      {"cos", [](const Real& x) { return cos(x); }, 1, std::cos(1.0), std::sin(1.0)},
      {"tanh", [](const Real& x) { return tanh(x); }, 0.5, std::tanh(0.5), 1 - std::tanh(0.5) * std::tanh(0.5)},
      {"erf", [](const Real& x) { return erf(x); }, 0.5, std::erf(0.5), 1.1283791670955126 * std::exp(-0.25)},
      {"square", [](const Real& x) { return pow(x, Real(2)); }, 3, 9, 6},
      {"negation", [](const Real& x) { return -x; }, 3, -3, 1},
      {"fabs", [](const Real& x) { return fabs(x); }, -3, 3, 1},
      {"reciprocal", [](const Real& x) { return Real(1) / x; }, 4, 0.25, 1.0 / 16},
  };
  for (const auto& f : functions) {
    Real x(f.at);
    x.inherited = 1e-6;  // far above any rounding
    const Real result = f.function(x);
    EXPECT_NEAR(result.value, f.value, 1e-12) << f.name;
    EXPECT_NEAR(std::sqrt(result.variance()), 1e-3 * f.slope, 1e-6) << f.name;
  }
}

TEST(RoundingModel, NumbersThatTheTypeHoldsAreExactAndOthersAreRounded) {
  EXPECT_EQ(Real(0.5).variance(), 0);
  EXPECT_EQ(Real(3).variance(), 0);
  EXPECT_EQ(Real(kTenth).variance(), 0);
  EXPECT_GT(Real(0.1).variance(), 0);
  EXPECT_GT(Real(16777217).variance(), 0);
  EXPECT_EQ(WideReal(0.1).variance(), 0);
  EXPECT_GT(WideReal(0.1L).variance(), 0);
  EXPECT_EQ(fmax(Real(0.5), Real(2)).variance(), 0);
  EXPECT_EQ(sqrt(Real(0)).variance(), 0);
}

TEST(RoundingModel, AClampNearATieMayErrAsItsArgumentDoes) {
  const Real near = Real(1) - Real(1.0000001);
  EXPECT_EQ(fmax(near, Real(0)).value, 0);
  EXPECT_EQ(fmax(near, Real(0)).variance(), near.variance());
  EXPECT_EQ(fmax(Real(0), near).variance(), near.variance());
  EXPECT_EQ(fmin(-near, Real(0)).variance(), near.variance());
  EXPECT_EQ(fmax(Real(1) - Real(3.1), Real(0)).variance(), 0) << "no kernel gives anything but 0";
}

TEST(RoundingModel, AStepNearOneMayBeTakenOrNot) {
  const Real near = Real(0.1) * Real(30);
  EXPECT_EQ(floor(near).variance(), 1);
  EXPECT_EQ(round(near).variance(), 0);
  EXPECT_EQ(round(near / Real(2)).variance(), 1);
  EXPECT_EQ(floor(Real(3)).variance(), 0);
  EXPECT_EQ(ceil(Real(0.1) * Real(31)).value, 4);
  EXPECT_EQ(trunc(Real(-2.5)).value, -2);
}

TEST(RoundingModel, ASquaresFactorsErrTogether) {
  Real x(3);
  x.inherited = 1e-6;
  EXPECT_NEAR((x * x).variance(), 36e-6, 1e-9);
  EXPECT_NEAR((x * Real(x)).variance(), 18e-6, 1e-9);
}

TEST(RoundingModel, InfinityIsASentinelLikeAnother) {
  const Real infinity = std::numeric_limits<Real>::infinity();
  EXPECT_TRUE(std::isinf(infinity.value));
  EXPECT_EQ(std::numeric_limits<Real>::lowest(), std::numeric_limits<double>::lowest());
  const Real nothing = exp(-infinity - Real(1.5));
  EXPECT_EQ(nothing.value, 0);
  EXPECT_EQ(nothing.variance(), 0);
  const Real sum = nothing * Real(7) + exp(Real(0.1));
  EXPECT_GT(sum.variance(), 0);
  EXPECT_TRUE(std::isfinite(sum.variance()));
  EXPECT_EQ((Real(1) / infinity).variance(), 0);
}

TEST(RoundingModel, DoublesOfAnyMagnitudeHaveAnError) {
  for (const double scale : {1e-150, 1e150, 1e-290}) {
    const WideReal product = WideReal(scale) * WideReal(1.1);
    const auto bytes = std::as_bytes(std::span(&product, 1));
    const ExpectedValues expected = with_derived_bounds(DataType::f64, 6, bytes.data(), 1);
    EXPECT_GT(expected.bounds[0], 1e-16 * scale) << scale;
    EXPECT_LT(expected.bounds[0], 1e-14 * scale) << scale;
  }
}

// What is computed in float before it gets here has an error that the model does not know.
static_assert(std::is_constructible_v<Real, const float&>);
static_assert(!std::is_constructible_v<Real, float>);

std::vector<double> bounds_of(const std::vector<Real>& numbers, double standard_errors) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return with_derived_bounds(DataType::f32, standard_errors, bytes.data(), numbers.size()).bounds;
}

TEST(RoundingModel, BoundsAreExactWhereAValueIsOnlyMoved) {
  EXPECT_THAT(bounds_of({Real(kTenth), -Real(kTenth), fabs(Real(-7))}, 8), testing::Each(0.0));
}

TEST(RoundingModel, BoundsGrowWithTheStandardErrorsAllowed) {
  Real x(1);
  x.inherited = 1e-8;
  const double one_rounding = 0x1p-24;
  const double smallest = std::numeric_limits<float>::min();
  EXPECT_NEAR(bounds_of({x}, 8)[0], 8e-4 + one_rounding, 1e-12);
  EXPECT_NEAR(bounds_of({x}, 2)[0], 2e-4 + one_rounding, 1e-12);
  // What lies below the smallest normal number may be flushed.
  EXPECT_GE(bounds_of({Real(1e-30) * Real(1e-10)}, 8)[0], smallest);
}

TEST(RoundingModel, DoublesAreHeldAgainstMoreDigits) {
  RngStream rng(3);
  double largest = 0, sloppy = 0;
  for (int draw = 0; draw < 500; ++draw) {
    WideReal expected = 0;
    double sum = 0;
    float in_floats = 0;
    for (int i = 0; i < 200; ++i) {
      const double x = normal(rng), y = normal(rng);
      expected += WideReal(x) * y;
      sum += x * y;
      in_floats += static_cast<float>(x * y);
    }
    const auto bytes = std::as_bytes(std::span(&expected, 1));
    const ExpectedValues of_one = with_derived_bounds(DataType::f64, 8, bytes.data(), 1);
    largest = std::max(largest, std::fabs(sum - of_one.values[0]) / of_one.bounds[0]);
    sloppy = std::max(sloppy, std::fabs(in_floats - of_one.values[0]) / of_one.bounds[0]);
  }
  EXPECT_LT(largest, 1);
  EXPECT_GT(largest, 0.1);
  EXPECT_GT(sloppy, 1e6);
}

}  // namespace
}  // namespace kc::test
