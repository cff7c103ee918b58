#pragma once
// The arithmetic of references that derive their task's tolerance (docs/task-packs.md, "Tolerance"): a number of more
// digits than the task's type, with the variance of the error that a kernel in the task's type may honestly have.
//
// Model: every operation is rounded once, by an error of mean 0, independent of the others, uniform within the type's
// unit roundoff u, so of variance (u r)^2 / 3 for a result r (N. Higham, T. Mary, "A new approach to probabilistic
// rounding error analysis", SIAM J. Sci. Comput. 41(5), 2019). Errors of operands go through an operation by its
// derivatives. An elementary function rounds its argument too (a kernel scales it to another base) and errs by two
// units of its result. Numbers that the type can hold enter without an error. Sums are held for any order of their
// terms: each addition counts as if it met the whole sum, or the root of its terms' squares where that is more.
//
// Errors count as independent: those that thousands of operations share (a map that is iterated, equal terms of a long
// sum) are underestimated, and differences of close numbers that feed on each other (time steps) overestimated.
//
// This text is compiled in front of references; C++17.
#include <limits>

namespace kc {

// Value is double where kernels compute in float, long double where they compute in double.
template <class Value>
struct RoundedNumber {
  Value value = 0;
  Value inherited = 0;  // variance of a kernel's error before the roundings of the sum that this is
  Value squares = 0;    // of that sum's terms and partial sums, at least; 0 where it is no sum
  Value additions = 0;  // that made it

  static constexpr bool kIsOfFloats = sizeof(Value) == sizeof(double);
  static constexpr Value kRoundoff = kIsOfFloats ? Value(0x1p-24) : Value(0x1p-53);

  RoundedNumber() = default;
  RoundedNumber(const float& x) : value(x) {}
  RoundedNumber(float&&) = delete;  // what was computed in float has an error already: write real(a[i]) * b[i]
  RoundedNumber(double x) : RoundedNumber(of(x)) {}
  RoundedNumber(long double x) : RoundedNumber(of(static_cast<Value>(x))) {}
  RoundedNumber(int x) : RoundedNumber(of(static_cast<Value>(x))) {}
  RoundedNumber(unsigned x) : RoundedNumber(of(static_cast<Value>(x))) {}
  RoundedNumber(long x) : RoundedNumber(of(static_cast<Value>(x))) {}
  RoundedNumber(unsigned long x) : RoundedNumber(of(static_cast<Value>(x))) {}
  RoundedNumber(long long x) : RoundedNumber(of(static_cast<Value>(x))) {}
  RoundedNumber(unsigned long long x) : RoundedNumber(of(static_cast<Value>(x))) {}

  explicit operator float() const { return static_cast<float>(value); }
  explicit operator double() const { return static_cast<double>(value); }
  explicit operator int() const { return static_cast<int>(value); }
  explicit operator long() const { return static_cast<long>(value); }
  explicit operator long long() const { return static_cast<long long>(value); }

  // Of a kernel's error. Every addition may have met the whole sum, in one order or another; a sum of two has one
  // order.
  Value variance() const {
    const Value own = square(value);
    return inherited + rounding(additions * (additions > 1 ? larger(squares, own) : own));
  }

  // What rounding a result of this square adds to its variance.
  static Value rounding(Value square) { return kRoundoff * kRoundoff / 3 * square; }
  static Value larger(Value a, Value b) { return a < b ? b : a; }
  static Value square(Value x) { return x * x; }

  // A variance that is no number comes of 0 times infinity: exp(-infinity), say, whose result is exact.
  static RoundedNumber made(Value value, Value variance) {
    RoundedNumber result;
    result.value = value;
    result.inherited = variance == variance ? variance : Value(0);
    return result;
  }

  // A number from outside: exact where the type can hold it.
  static RoundedNumber of(Value x) {
    const bool is_exact =
        kIsOfFloats ? static_cast<Value>(static_cast<float>(x)) == x : static_cast<Value>(static_cast<double>(x)) == x;
    return made(x, is_exact ? 0 : rounding(square(x)));
  }

  // f(x) with its derivative there.
  static RoundedNumber function(const RoundedNumber& x, Value result, Value derivative) {
    const Value argument = x.variance() + rounding(square(x.value));
    return made(result, square(derivative) * argument + 4 * rounding(square(result)));
  }

  // `sign` is 1 or -1.
  static RoundedNumber sum(const RoundedNumber& a, const RoundedNumber& b, int sign) {
    RoundedNumber result;
    result.value = sign > 0 ? a.value + b.value : a.value - b.value;
    result.squares = larger(a.squares, square(a.value)) + larger(b.squares, square(b.value));
    result.additions = a.additions + b.additions + 1;
    result.inherited = a.inherited + b.inherited;
    return result;
  }

  friend RoundedNumber operator+(const RoundedNumber& a, const RoundedNumber& b) { return sum(a, b, 1); }
  friend RoundedNumber operator-(const RoundedNumber& a, const RoundedNumber& b) { return sum(a, b, -1); }
  friend RoundedNumber operator*(const RoundedNumber& a, const RoundedNumber& b) {
    const Value r = a.value * b.value;
    const Value of_a = square(b.value) * a.variance();
    const Value of_b = square(a.value) * b.variance();
    // A square's factors err together.
    return made(r, (&a == &b ? 4 * of_a : of_a + of_b) + rounding(square(r)));
  }
  friend RoundedNumber operator/(const RoundedNumber& a, const RoundedNumber& b) {
    const Value r = a.value / b.value;
    return made(r, (a.variance() + square(r) * b.variance()) / square(b.value) + rounding(square(r)));
  }
  friend RoundedNumber operator+(const RoundedNumber& a) { return a; }
  friend RoundedNumber operator-(const RoundedNumber& a) {
    RoundedNumber result = a;
    result.value = -a.value;
    return result;
  }

  RoundedNumber& operator+=(const RoundedNumber& b) { return *this = *this + b; }
  RoundedNumber& operator-=(const RoundedNumber& b) { return *this = *this - b; }
  RoundedNumber& operator*=(const RoundedNumber& b) { return *this = *this * b; }
  RoundedNumber& operator/=(const RoundedNumber& b) { return *this = *this / b; }

  friend bool operator<(const RoundedNumber& a, const RoundedNumber& b) { return a.value < b.value; }
  friend bool operator>(const RoundedNumber& a, const RoundedNumber& b) { return a.value > b.value; }
  friend bool operator<=(const RoundedNumber& a, const RoundedNumber& b) { return a.value <= b.value; }
  friend bool operator>=(const RoundedNumber& a, const RoundedNumber& b) { return a.value >= b.value; }
  friend bool operator==(const RoundedNumber& a, const RoundedNumber& b) { return a.value == b.value; }
  friend bool operator!=(const RoundedNumber& a, const RoundedNumber& b) { return a.value != b.value; }

  friend RoundedNumber fabs(const RoundedNumber& x) { return x.value < 0 ? -x : x; }
  friend RoundedNumber abs(const RoundedNumber& x) { return fabs(x); }
  friend RoundedNumber fmax(const RoundedNumber& a, const RoundedNumber& b) {
    return a.value < b.value ? chosen(b, a) : chosen(a, b);
  }
  friend RoundedNumber fmin(const RoundedNumber& a, const RoundedNumber& b) {
    return b.value < a.value ? chosen(b, a) : chosen(a, b);
  }

  friend RoundedNumber floor(const RoundedNumber& x) { return whole(x, __builtin_floorl(x.value), 0); }
  friend RoundedNumber ceil(const RoundedNumber& x) { return whole(x, __builtin_ceill(x.value), 0); }
  friend RoundedNumber trunc(const RoundedNumber& x) { return whole(x, __builtin_truncl(x.value), 0); }
  friend RoundedNumber round(const RoundedNumber& x) { return whole(x, __builtin_roundl(x.value), 0.5L); }

  friend RoundedNumber sqrt(const RoundedNumber& x) {
    const Value r = of_roots(x.value);
    // At 0 the derivative is infinite; there a kernel errs by the root of its argument's error.
    if (r == 0) return made(r, x.variance() > 0 ? of_roots(x.variance()) : Value(0));
    return function(x, r, 1 / (2 * r));
  }
  friend RoundedNumber exp(const RoundedNumber& x) {
    const Value r = exponential(x.value);
    return function(x, r, r);
  }
  friend RoundedNumber exp2(const RoundedNumber& x) {
    const Value r = exponential(x.value * kLogOf2);
    return function(x, r, r * kLogOf2);
  }
  friend RoundedNumber log(const RoundedNumber& x) { return function(x, logarithm(x.value), 1 / x.value); }
  friend RoundedNumber log2(const RoundedNumber& x) {
    return function(x, logarithm(x.value) / kLogOf2, 1 / (x.value * kLogOf2));
  }
  friend RoundedNumber log1p(const RoundedNumber& x) {
    return function(x, static_cast<Value>(__builtin_log1pl(x.value)), 1 / (1 + x.value));
  }
  friend RoundedNumber expm1(const RoundedNumber& x) {
    return function(x, static_cast<Value>(__builtin_expm1l(x.value)), exponential(x.value));
  }
  friend RoundedNumber sin(const RoundedNumber& x) {
    return function(x, static_cast<Value>(__builtin_sinl(x.value)), static_cast<Value>(__builtin_cosl(x.value)));
  }
  friend RoundedNumber cos(const RoundedNumber& x) {
    return function(x, static_cast<Value>(__builtin_cosl(x.value)), static_cast<Value>(-__builtin_sinl(x.value)));
  }
  friend RoundedNumber tanh(const RoundedNumber& x) {
    const auto r = static_cast<Value>(__builtin_tanhl(x.value));
    return function(x, r, 1 - r * r);
  }
  friend RoundedNumber erf(const RoundedNumber& x) {
    const auto slope = static_cast<Value>(2 / __builtin_sqrtl(kPi)) * exponential(-x.value * x.value);
    return function(x, static_cast<Value>(__builtin_erfl(x.value)), slope);
  }
  friend RoundedNumber erfc(const RoundedNumber& x) {
    const auto slope = static_cast<Value>(-2 / __builtin_sqrtl(kPi)) * exponential(-x.value * x.value);
    return function(x, static_cast<Value>(__builtin_erfcl(x.value)), slope);
  }
  friend RoundedNumber pow(const RoundedNumber& x, const RoundedNumber& y) {
    const auto r = static_cast<Value>(__builtin_powl(x.value, y.value));
    RoundedNumber result = function(x, r, x.value == 0 ? Value(0) : y.value * r / x.value);
    if (x.value > 0) result.inherited += square(r * logarithm(x.value)) * y.variance();
    return result;
  }

 private:
  static constexpr int kNear = 8;  // standard errors: as far off, no kernel takes the other one

  // A kernel may take the other one where the two are close, and then errs by its error.
  static RoundedNumber chosen(const RoundedNumber& own, const RoundedNumber& other) {
    const Value variance = own.variance();
    const Value other_variance = other.variance();
    if (!(other_variance > variance) || square(own.value - other.value) > kNear * kNear * (variance + other_variance)) {
      return own;
    }
    return made(own.value, other_variance);
  }

  // A step function of x whose steps lie at whole numbers plus `offset`: a kernel may be on the other side of one.
  static RoundedNumber whole(const RoundedNumber& x, long double result, long double offset) {
    const long double distance = x.value - offset - __builtin_roundl(x.value - offset);
    const bool is_near = distance * distance <= kNear * kNear * static_cast<long double>(x.variance());
    return made(static_cast<Value>(result), x.variance() > 0 && is_near ? 1 : 0);
  }

  static constexpr auto kLogOf2 = static_cast<Value>(0.693147180559945309417232121458176568L);
  static constexpr long double kPi = 3.14159265358979323846264338327950288L;

  // Those that references call by the million, at the speed of Value's own.
  static Value of_roots(Value x) {
    if constexpr (kIsOfFloats) return __builtin_sqrt(x);
    return static_cast<Value>(__builtin_sqrtl(x));
  }
  static Value exponential(Value x) {
    if constexpr (kIsOfFloats) return __builtin_exp(x);
    return static_cast<Value>(__builtin_expl(x));
  }
  static Value logarithm(Value x) {
    if constexpr (kIsOfFloats) return __builtin_log(x);
    return static_cast<Value>(__builtin_logl(x));
  }
};

}  // namespace kc

template <class Value>
class std::numeric_limits<kc::RoundedNumber<Value>> : public std::numeric_limits<Value> {};
