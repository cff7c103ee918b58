#include "forecast/parser.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "forecast/tool_call.h"

namespace kc {

namespace {

enum class PieceKind { bin, probability, stop, other };

struct Piece {
  PieceKind kind = PieceKind::other;
  int number = 0;
};

ParsedForecast failure(ParseOutcome outcome, std::string detail) {
  return Unexpected(ParseFailure{outcome, std::move(detail)});
}

// "<|" prefix digits "|>" at the head of `text`: the number and the length; -1 when it is not one.
int numbered_piece(std::string_view text, std::string_view prefix, std::size_t& length) {
  if (text.substr(0, prefix.size()) != prefix) return -1;
  int number = 0;
  const char* first = text.data() + prefix.size();
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return -1;
  const auto at = static_cast<std::size_t>(end - text.data());
  if (text.substr(at, 2) != "|>") return -1;
  length = at + 2;
  return number;
}

Piece take_piece(std::string_view& text) {
  std::size_t length = 0;
  Piece piece;
  if (text.substr(0, kStopPiece.size()) == kStopPiece) {
    piece.kind = PieceKind::stop;
    length = kStopPiece.size();
  } else if (const int bin = numbered_piece(text, "<|bin_", length); bin >= 0) {
    piece = {PieceKind::bin, bin};
  } else if (const int step = numbered_piece(text, "<|p_", length); step >= 0) {
    piece = {PieceKind::probability, step};
  } else {
    length = std::min(text.find("<|", 1), text.size());
  }
  text.remove_prefix(length);
  return piece;
}

std::vector<Piece> pieces_of(std::string_view text) {
  std::vector<Piece> pieces;
  while (!text.empty()) pieces.push_back(take_piece(text));
  if (!pieces.empty() && pieces.back().kind == PieceKind::stop) pieces.pop_back();
  return pieces;
}

bool is_bin(const Piece& piece) { return piece.kind == PieceKind::bin; }

// What is wrong with the head of an answer; ok when it begins with a bin of 1..8.
ParseFailure check_head(const std::vector<Piece>& pieces) {
  if (std::none_of(pieces.begin(), pieces.end(), is_bin)) return {ParseOutcome::no_call, "no bin token"};
  if (!is_bin(pieces[0])) return {ParseOutcome::wrong_type, "something other than a bin token comes first"};
  if (pieces[0].number < 1 || pieces[0].number > kBins) {
    return {ParseOutcome::out_of_range, fmt::format("bin {}", pieces[0].number)};
  }
  return {ParseOutcome::ok, ""};
}

ParsedForecast parse_direct(const std::vector<Piece>& pieces) {
  if (const ParseFailure head = check_head(pieces); head.outcome != ParseOutcome::ok) return Unexpected(head);
  if (pieces.size() > 1) {
    return failure(is_bin(pieces[1]) ? ParseOutcome::two_calls : ParseOutcome::wrong_type, "text after the bin token");
  }
  return Forecast{.p = one_hot(pieces[0].number), .predicted_bin = pieces[0].number, .raw_sum = 1, .reasoning = {}};
}

ParsedForecast parse_compact_pieces(const std::vector<Piece>& pieces) {
  if (const ParseFailure head = check_head(pieces); head.outcome != ParseOutcome::ok) return Unexpected(head);
  Forecast forecast;
  forecast.predicted_bin = pieces[0].number;
  const std::size_t answer = kBins + 1;
  int sum = 0;
  for (std::size_t i = 1; i < std::min(pieces.size(), answer); ++i) {
    if (pieces[i].kind != PieceKind::probability) {
      return failure(ParseOutcome::wrong_type, fmt::format("probability {} is another token", i));
    }
    if (pieces[i].number >= kProbabilitySteps) {
      return failure(ParseOutcome::out_of_range, fmt::format("probability step {}", pieces[i].number));
    }
    forecast.p[i - 1] = pieces[i].number;
    sum += pieces[i].number;
  }
  if (pieces.size() < answer) {
    return failure(ParseOutcome::missing_field, fmt::format("{} of 8 probabilities", pieces.size() - 1));
  }
  if (pieces.size() > answer) {
    return failure(is_bin(pieces[answer]) ? ParseOutcome::two_calls : ParseOutcome::wrong_type,
                   "text after the eight probabilities");
  }
  if (sum == 0) return failure(ParseOutcome::all_zero, "all probabilities are 0");
  for (double& p : forecast.p) p /= sum;
  forecast.raw_sum = static_cast<double>(sum) / (kProbabilitySteps - 1);
  return forecast;
}

ParsedForecast parse_compact(const std::vector<Piece>& pieces, Completion completion) {
  if (completion == Completion::stopped) return parse_compact_pieces(pieces);
  const std::vector<Piece> head(pieces.begin(), pieces.begin() + std::min<std::size_t>(pieces.size(), kBins + 1));
  if (parse_compact_pieces(head)) return failure(ParseOutcome::no_stop, "a whole answer without a stop token");
  return failure(ParseOutcome::truncated, "the limit of new tokens came before a whole answer");
}

}  // namespace

std::string bin_piece(Bin bin) { return fmt::format("<|bin_{}|>", bin); }
std::string probability_piece(int step) { return fmt::format("<|p_{}|>", step); }

ParsedForecast parse_forecast(std::string_view text, Completion completion, WireFormat wire, ParseRules rules) {
  if (wire == WireFormat::tool) return parse_tool(text, completion, rules);
  const std::vector<Piece> pieces = pieces_of(text);
  return wire == WireFormat::direct ? parse_direct(pieces) : parse_compact(pieces, completion);
}

std::string compact_text(Bin bin, const std::array<int, kBins>& steps) {
  std::string text = bin_piece(bin);
  for (const int step : steps) text += probability_piece(step);
  return text + std::string(kStopPiece);
}

std::array<int, kBins> probability_steps(const Probabilities& p) {
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  if (!std::isfinite(sum) || sum <= 0 || *std::min_element(p.begin(), p.end()) < 0) {
    throw Error(ErrorKind::internal, "probability_steps needs finite, non-negative probabilities that are not all 0");
  }
  constexpr int kTotal = kProbabilitySteps - 1;
  std::array<int, kBins> steps{};
  std::array<double, kBins> remainder{};
  int left = kTotal;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double scaled = p[i] / sum * kTotal;
    // Guards a whole number of steps against landing just below itself.
    steps[i] = static_cast<int>(std::floor(scaled + 1e-9));
    remainder[i] = scaled - steps[i];
    left -= steps[i];
  }
  for (; left > 0; --left) {
    const auto largest = std::max_element(remainder.begin(), remainder.end()) - remainder.begin();
    ++steps[largest];
    remainder[largest] -= 1;
  }
  return steps;
}

}  // namespace kc
