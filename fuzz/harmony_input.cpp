#include "fuzz/harmony_input.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "rollout/tool_wire.h"

namespace kc {
namespace {

constexpr std::size_t kFirstWord = 0xA0;
constexpr std::uint8_t kEscape = 0xFF;

constexpr std::array<std::string_view, 62> kWords = {"<|endoftext|>",
                                                     "<|return|>",
                                                     "<|constrain|>",
                                                     "<|channel|>",
                                                     "<|start|>",
                                                     "<|end|>",
                                                     "<|message|>",
                                                     "<|call|>",
                                                     "<|reserved_200013|>",
                                                     "assistant",
                                                     "user",
                                                     "system",
                                                     "developer",
                                                     "analysis",
                                                     "commentary",
                                                     "final",
                                                     " to=",
                                                     "functions.",
                                                     "submit_kernel_runtime_estimate",
                                                     "json",
                                                     "code",
                                                     " ",
                                                     "\n",
                                                     "{",
                                                     "}",
                                                     "[",
                                                     "]",
                                                     "\"",
                                                     ":",
                                                     ",",
                                                     "\\",
                                                     "0.1",
                                                     "0",
                                                     "1",
                                                     "5",
                                                     "8",
                                                     "-1",
                                                     "1e999",
                                                     "null",
                                                     "true",
                                                     "{\"predicted_bin\":",
                                                     ",\"p_severe_slowdown\":",
                                                     ",\"p_significant_slowdown\":",
                                                     ",\"p_moderate_slowdown\":",
                                                     ",\"p_minor_slowdown\":",
                                                     ",\"p_minor_speedup\":",
                                                     ",\"p_significant_speedup\":",
                                                     ",\"p_high_speedup\":",
                                                     ",\"p_extreme_speedup\":",
                                                     ",\"reasoning\":\"",
                                                     ",\"predicted_bin\":",
                                                     ",\"other\":",
                                                     "<|bin_1|>",
                                                     "<|bin_8|>",
                                                     "<|bin_9|>",
                                                     "<|p_0|>",
                                                     "<|p_4|>",
                                                     "<|p_20|>",
                                                     "<|p_21|>",
                                                     "<|stop|>",
                                                     "(",
                                                     ")"};
static_assert(kFirstWord + kWords.size() < kEscape);

// Ids below 256 are bytes, those from 256 the words; any other id is nothing, as with the real vocabulary.
class WordTokenizer final : public Tokenizer {
 public:
  std::vector<TokenId> encode(std::string_view text, bool) const override { return {text.begin(), text.end()}; }
  std::string decode(std::span<const TokenId> ids) const override {
    std::string text;
    text.reserve(2 * ids.size());
    for (const TokenId id : ids) {
      if (id >= 0 && id < 256) text += static_cast<char>(id);
      if (id >= 256 && id < vocabulary_size()) text += kWords[static_cast<std::size_t>(id - 256)];
    }
    return text;
  }
  TokenId id_of(std::string_view piece) const override {
    for (std::size_t i = 0; i < kWords.size(); ++i)
      if (kWords[i] == piece) return static_cast<TokenId>(256 + i);
    throw Error(ErrorKind::bad_data, "no piece " + std::string(piece));
  }
  std::int64_t vocabulary_size() const override { return 256 + static_cast<std::int64_t>(kWords.size()); }
  std::string hash() const override { return ""; }
  void save(const std::filesystem::path&) const override {}
};

std::vector<TokenId> tokens_of(std::span<const std::uint8_t> input) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::uint8_t byte = input[i];
    if (byte == kEscape) {
      if (++i < input.size()) tokens.push_back(input[i]);
    } else {
      tokens.push_back(byte < kFirstWord ? byte : static_cast<TokenId>(256 + byte - kFirstWord));
    }
  }
  return tokens;
}

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "harmony_input: %s\n", what);
  std::abort();
}

void check_forecast(const ParsedForecast& parsed, bool needs_reasoning) {
  if (!parsed) {
    require(parsed.error().outcome != ParseOutcome::ok, "a failure is called ok");
    return;
  }
  double sum = 0;
  for (const double p : parsed->p) {
    require(p >= 0 && p <= 1 + 1e-12, "a probability outside [0, 1]");
    sum += p;
  }
  require(std::abs(sum - 1) < 1e-9, "probabilities that do not sum to 1");
  require(parsed->predicted_bin >= 1 && parsed->predicted_bin <= kBins, "a bin that does not exist");
  require(std::isfinite(parsed->raw_sum) && parsed->raw_sum > 0, "a raw sum that is no sum");
  require(!needs_reasoning || !parsed->reasoning.empty(), "no rationale");
}

bool alike(const ParsedMessage& a, const ParsedMessage& b) {
  return a.message == b.message && a.end == b.end && a.has_header == b.has_header && a.junk == b.junk;
}

void check_parsers(const Tokenizer& tokenizer, const HarmonySpecials& specials, const std::vector<TokenId>& tokens) {
  const std::vector<ParsedMessage> whole = parse_completion(tokenizer, specials, tokens);
  HarmonyParser parser(tokenizer, specials, HarmonyParser::From::completion);
  std::size_t finished = 0;
  for (const TokenId token : tokens) {
    parser.feed(token);
    require(parser.messages().size() - finished <= 1, "one token finished two messages");
    finished = parser.messages().size();
  }
  parser.finish();
  require(parser.messages().size() == whole.size(), "the streaming parser found other messages");
  for (std::size_t i = 0; i < whole.size(); ++i) {
    require(alike(parser.messages()[i], whole[i]), "the streaming parser found another message");
    require(whole[i].has_header || !whole[i].message.content.empty(), "a message of nothing");
    require(whole[i].end != MessageEnd::open || i + 1 == whole.size(), "an open message before the last");
  }
}

}  // namespace

void check_harmony_input(std::span<const std::uint8_t> input) {
  static const WordTokenizer tokenizer;
  static const HarmonySpecials specials = *HarmonySpecials::find(tokenizer);
  if (input.empty()) return;
  const bool cut = (input[0] & 1U) != 0;
  const ParseRules rules = (input[0] & 2U) != 0 ? ParseRules::published : ParseRules::strict;
  const std::vector<TokenId> tokens = tokens_of(input.subspan(1));
  // A few checks an input, so that there can be many inputs.
  switch ((input[0] >> 2U) & 3U) {
    case 0:
      check_forecast(parse_tool_tokens(tokenizer, specials, tokens, cut, rules), true);
      break;
    case 1:
      check_parsers(tokenizer, specials, tokens);
      break;
    default:
      const Completion completion = cut ? Completion::truncated : Completion::stopped;
      const WireFormat wire = (input[0] & 4U) != 0 ? WireFormat::tool : WireFormat::compact;
      check_forecast(parse_forecast(tokenizer.decode(tokens), completion, wire, rules), wire == WireFormat::tool);
  }
}

std::string harmony_input(std::string_view text, std::uint8_t settings) {
  std::string input(1, static_cast<char>(settings));
  while (!text.empty()) {
    std::size_t best = kWords.size();
    for (std::size_t i = 0; i < kWords.size(); ++i) {
      if (text.starts_with(kWords[i]) && (best == kWords.size() || kWords[i].size() > kWords[best].size())) best = i;
    }
    if (best < kWords.size()) {
      input += static_cast<char>(kFirstWord + best);
      text.remove_prefix(kWords[best].size());
      continue;
    }
    const auto byte = static_cast<std::uint8_t>(text.front());
    if (byte >= kFirstWord) input += static_cast<char>(kEscape);
    input += text.front();
    text.remove_prefix(1);
  }
  return input;
}

}  // namespace kc
