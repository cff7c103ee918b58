#include "measure/expression.h"

#include <fmt/format.h>
#include <muParser.h>

#include <cmath>

#include "base/error.h"

namespace kc {
namespace {

double remainder_of(double a, double b) {
  if (b == 0) throw mu::ParserError("remainder of a division by zero");
  return std::fmod(a, b);
}

double ceil_div(double a, double b) {
  if (b == 0) throw mu::ParserError("division by zero");
  return std::ceil(a / b);
}

double floor_of(double a) { return std::floor(a); }

}  // namespace

double evaluate(const std::string& expression, const Variables& variables) {
  double value = 0;
  try {
    mu::Parser parser;
    parser.DefineOprt("%", remainder_of, mu::prMUL_DIV);
    parser.DefineFun("ceil_div", ceil_div);
    parser.DefineFun("floor", floor_of);
    for (const auto& [name, number] : variables) parser.DefineConst(name, number);
    parser.SetExpr(expression);
    value = parser.Eval();
  } catch (const mu::ParserError& e) {
    throw Error(ErrorKind::bad_data, fmt::format("bad expression '{}': {}", expression, e.GetMsg()));
  }
  if (std::isfinite(value)) return value;
  throw Error(ErrorKind::bad_data, fmt::format("bad expression '{}': its value is not finite", expression));
}

std::int64_t evaluate_integer(const std::string& expression, const Variables& variables, std::int64_t minimum) {
  const double value = evaluate(expression, variables);
  constexpr double kExact = 9007199254740992.0;  // 2^53: above, doubles skip integers
  if (value == std::floor(value) && value >= static_cast<double>(minimum) && value <= kExact) {
    return static_cast<std::int64_t>(value);
  }
  throw Error(ErrorKind::bad_data,
              fmt::format("expression '{}' is {}; expected an integer of at least {}", expression, value, minimum));
}

Variables to_variables(const std::map<std::string, std::int64_t>& sizes) {
  Variables variables;
  for (const auto& [name, size] : sizes) variables[name] = static_cast<double>(size);
  return variables;
}

}  // namespace kc
