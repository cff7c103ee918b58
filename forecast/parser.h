#pragma once
// From a completion's text to a forecast. Total: every text gives a value, never an exception.
#include <array>
#include <string>
#include <string_view>

#include "forecast/forecast.h"
#include "forecast/prompt.h"

namespace kc {

// Reserved pieces of the `compact` and `direct` wire formats, each one token of a local vocabulary.
inline constexpr int kProbabilitySteps = 21;  // 0 %, 5 %, ... 100 %
std::string bin_piece(Bin bin);               // "<|bin_1|>" ... "<|bin_8|>"
std::string probability_piece(int step);      // "<|p_0|>" ... "<|p_20|>"
inline constexpr std::string_view kStopPiece = "<|stop|>";
inline constexpr std::string_view kAnswerPiece = "<|answer|>";  // ends the prompt
inline constexpr std::string_view kPadPiece = "<|pad|>";

inline constexpr std::string_view kToolName = "submit_kernel_runtime_estimate";

enum class Completion { stopped, truncated };  // by a stop token / by the limit of new tokens

enum class ParseRules { strict, published };  // published: numeric strings and extra keys are accepted (`tool`)

// `text` is the completion without the prompt, reserved pieces spelled out, the stop piece included or not.
//
// A completion that ran into the limit is `no_stop` when a whole answer stands in it and `truncated` otherwise.
// compact: a bin piece, eight probability pieces, stop. First matching of: no bin piece (no_call); a piece other than a
//   bin first, or other than a probability among the eight, or anything after them (wrong_type; a second bin piece
//   after a whole answer: two_calls); a number outside the scale (out_of_range); fewer than eight (missing_field).
// direct: one bin piece, with or without stop; its forecast is one-hot. The limit of new tokens does not matter.
// tool: exactly one call. Harmony messages are read where `<|message|>` occurs; otherwise the tool's name followed by a
//   JSON object, with or without a round bracket. Strict rules refuse unknown keys (wrong_type).
//   Arguments that are nested more than 500 deep are bad_json.
ParsedForecast parse_forecast(std::string_view text, Completion completion, WireFormat wire,
                              ParseRules rules = ParseRules::strict);

// The text that `compact` asks for: used as the target of the warm start and by tests.
std::string compact_text(Bin bin, const std::array<int, kBins>& steps);

// Probabilities rounded to steps of 5 % by largest remainder (the lowest bin of equals), so that they sum to 20.
// Error{internal} unless they are non-negative, finite and not all zero; their sum need not be 1.
std::array<int, kBins> probability_steps(const Probabilities& p);

}  // namespace kc
