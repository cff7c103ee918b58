#pragma once
// What a search must do with the best of many labels: the best of n is lucky, and a copy of it gets n more chances.
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "measure/measurer.h"

namespace kc {

// Equal for sources that differ in comments, blanks and empty lines only, with the same parameters: SHA-256 of what is
// left. A kernel that was measured under this name need not be measured again.
std::string near_clone_id(const KernelText& kernel);

struct ConfirmedWinner {
  std::size_t index = 0;  // among the requests
  Measurement label;      // the new one: its log2 S is not biased by the choice
  double first_log2 = 0;  // what made it a winner
  bool is_lucky = false;  // the new label lies below the first one's interval
};

// Measures the `count` fastest of these again, in a session with fresh inputs, and orders them by the new labels, best
// first. `measurements` belong to `requests`; those that are not ok are passed over. Of copies (near_clone_id) only the
// first is confirmed. Throws as Measurer::measure.
std::vector<ConfirmedWinner> confirm_winners(Measurer& measurer, const std::vector<MeasureRequest>& requests,
                                             const std::vector<Measurement>& measurements, std::size_t count,
                                             std::stop_token stop);

}  // namespace kc
