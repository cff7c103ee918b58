#pragma once
// Evaluations as a table for people, a predictions file in the published format, and a reliability diagram.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "eval/evaluation.h"

namespace kc {

// One column per named evaluation, one row per metric, value [low, high].
std::string evaluation_table(const std::vector<std::pair<std::string, const Evaluation*>>& columns);
std::string differences_table(const std::map<std::string, PairedDifference>& differences, const std::string& title);

// JSON Lines, one per row and sample (docs/evaluation.md, "Predictions"). Atomic.
void write_predictions(const std::filesystem::path& file, const std::vector<EvaluatedRow>& rows,
                       const std::string& surrogate_label);

// Self-contained SVG.
void write_reliability_svg(const std::filesystem::path& file, const Evaluation& evaluation, const std::string& title);

}  // namespace kc
