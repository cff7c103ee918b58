#pragma once
// Expressions of task packs: muParser's, with `a % b` as the remainder of integers, `ceil_div(a, b)` and `floor(a)`.
#include <cstdint>
#include <map>
#include <string>

namespace kc {

using Variables = std::map<std::string, double>;

// Error{bad_data} with the expression and what is wrong with it (unknown name, syntax, not finite).
double evaluate(const std::string& expression, const Variables& variables);

// The same, when the value must be an integer of at least `minimum`.
std::int64_t evaluate_integer(const std::string& expression, const Variables& variables, std::int64_t minimum);

Variables to_variables(const std::map<std::string, std::int64_t>& sizes);

}  // namespace kc
