#pragma once
// A decorator that ends after so many candidates or seconds.
#include <cstdint>
#include <memory>

#include "base/error.h"
#include "measure/measurer.h"

namespace kc {

struct MeasureBudget {
  std::int64_t candidates = 0;  // 0: no limit
  double seconds = 0;           // of measuring, all calls together; 0: no limit
};

// A spent budget is no failure: what was reported before it stays valid.
class BudgetSpent : public Error {
 public:
  explicit BudgetSpent(const std::string& message) : Error(ErrorKind::interrupted, message) {}
};

// measure() throws BudgetSpent once the budget is spent, after the results that it allowed; time is looked at between
// candidates.
std::unique_ptr<Measurer> make_budgeted_measurer(std::unique_ptr<Measurer> inner, const MeasureBudget& budget);

}  // namespace kc
