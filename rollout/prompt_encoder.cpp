#include "rollout/prompt_encoder.h"

#include <algorithm>

#include "base/error.h"

namespace kc {

std::vector<std::string> reserved_pieces() {
  std::vector<std::string> pieces{std::string(kPadPiece), std::string(kAnswerPiece), std::string(kStopPiece)};
  for (Bin bin = 1; bin <= kBins; ++bin) pieces.push_back(bin_piece(bin));
  for (int step = 0; step < kProbabilitySteps; ++step) pieces.push_back(probability_piece(step));
  return pieces;
}

namespace {

constexpr std::int64_t kLocalTokens = 256;
constexpr std::int64_t kHarmonyTokens = 32768;

bool is_date(const std::string& text) {
  constexpr std::string_view kShape = "dddd-dd-dd";
  return text.size() == kShape.size() && std::equal(text.begin(), text.end(), kShape.begin(), [](char c, char shape) {
           return shape == 'd' ? c >= '0' && c <= '9' : c == shape;
         });
}

void read_tool_options(ConfigSection& s, PromptFormat& format) {
  format.max_new_tokens =
      s.integer("max_new_tokens", format.max_new_tokens,
                {.meaning = "limit of a completion in the tool wire", .unit = "tokens", .min = 1, .max = 131072});
  format.tool.effort =
      reasoning_effort_of(s.choice("reasoning_effort", "medium", {"low", "medium", "high"},
                                   {.meaning = "how long a gpt-oss model is asked to reason before it answers"}));
  format.tool.date = s.text("date", kDefaultPromptDate,
                            {.meaning = "current date that a gpt-oss prompt states, YYYY-MM-DD; empty: none"});
  if (!format.tool.date.empty() && !is_date(format.tool.date)) {
    s.fault("date", "expected YYYY-MM-DD or nothing, found " + format.tool.date);
  }
}

}  // namespace

PromptFormat read_prompt_format(Config& config) {
  ConfigSection s = config.section("prompt");
  PromptFormat format;
  format.template_file = s.text("template", "configs/prompts/default.txt", {.meaning = "template file of the prompts"});
  const std::string style = s.choice(
      "style", "auto", {"auto", "full", "diff"},
      {.meaning = "full: both sources; diff: the lines that differ, or the tunables of one template; auto: full "
                  "for gpt-oss vocabularies, else diff"});
  if (style != "auto") format.style = prompt_style_of(style);
  const std::string wire = s.choice(
      "wire", "auto", {"auto", "direct", "compact", "tool"},
      {.meaning =
           "wire format of sampled answers: direct, compact (bin, then probabilities) or tool (reasoning, then a "
           "call); auto: tool for gpt-oss vocabularies, else compact"});
  if (wire != "auto") format.wire = wire_format_of(wire);
  format.max_tokens =
      s.integer("max_tokens", format.max_tokens,
                {.meaning = "longer prompts are cut in the middle of the two kernel blocks; 0: 32768 for "
                            "gpt-oss vocabularies, else 256",
                 .unit = "tokens",
                 .min = 0,
                 .max = 131072});
  if (format.max_tokens > 0 && format.max_tokens < 8) s.fault("max_tokens", "expected 0 or at least 8");
  read_tool_options(s, format);
  return format;
}

PromptFormat resolved(PromptFormat format, bool harmony) {
  if (!format.style) format.style = harmony ? PromptStyle::full : PromptStyle::diff;
  if (!format.wire) format.wire = harmony ? WireFormat::tool : WireFormat::compact;
  if (format.max_tokens == 0) format.max_tokens = harmony ? kHarmonyTokens : kLocalTokens;
  return format;
}

Probabilities label_probabilities(Bin truth) {
  constexpr double kOnTruth = 0.7;
  Probabilities p{};
  const int neighbours = (truth > 1 ? 1 : 0) + (truth < kBins ? 1 : 0);
  p[truth - 1] = kOnTruth;
  if (truth > 1) p[truth - 2] = (1 - kOnTruth) / neighbours;
  if (truth < kBins) p[truth] = (1 - kOnTruth) / neighbours;
  return p;
}

PromptEncoder::PromptEncoder(PromptFormat format, std::shared_ptr<const Tokenizer> tokenizer)
    : template_(PromptTemplate::load(format.template_file)), tokenizer_(std::move(tokenizer)) {
  const std::optional<HarmonySpecials> specials = HarmonySpecials::find(*tokenizer_);
  format_ = resolved(std::move(format), specials.has_value());
  if (!specials) {
    find_local_pieces();
    return;
  }
  if (wire() == WireFormat::compact) {
    throw Error(ErrorKind::config,
                "prompt.wire is compact, but this model has the gpt-oss vocabulary, which lacks its pieces: leave the "
                "key out, or choose tool or direct");
  }
  harmony_ = std::make_shared<ToolWire>(tokenizer_, *specials, format_.tool);
  bin_tokens_ = harmony_->bin_tokens();
  stop_token_ = harmony_->call_token();
}

void PromptEncoder::find_local_pieces() {
  answer_token_ = tokenizer_->id_of(kAnswerPiece);
  stop_token_ = tokenizer_->id_of(kStopPiece);
  for (Bin bin = 1; bin <= kBins; ++bin) bin_tokens_.push_back(tokenizer_->id_of(bin_piece(bin)));
  for (int step = 0; step < kProbabilitySteps; ++step) {
    probability_tokens_.push_back(tokenizer_->id_of(probability_piece(step)));
  }
}

std::vector<TokenId> PromptEncoder::encode(const PromptRequest& request) const {
  if (harmony_) {
    const Prompt prompt = template_.render(request, *format_.style, WireFormat::tool);
    ToolWire::EncodedPrompt encoded = harmony_->prompt(prompt, format_.max_tokens);
    if (encoded.cut) cut_->fetch_add(1);
    return std::move(encoded.ids);
  }
  const Prompt prompt = template_.render(request, *format_.style, wire());
  const std::string text = prompt.system.empty() ? prompt.user : prompt.system + "\n" + prompt.user;
  const std::vector<TokenId> whole = tokenizer_->encode(text, false);
  std::vector<TokenId> ids = cut_in_the_middles(whole, format_.max_tokens - 1);
  if (ids.size() < whole.size()) cut_->fetch_add(1);
  ids.push_back(answer_token_);
  return ids;
}

std::vector<TokenId> PromptEncoder::direct_prompt(std::vector<TokenId> prompt) const {
  if (harmony_) {
    const std::vector<TokenId>& suffix = harmony_->direct_suffix();
    prompt.insert(prompt.end(), suffix.begin(), suffix.end());
  }
  return prompt;
}

ParsedForecast PromptEncoder::parse(const Sample& sample) const {
  const bool cut = sample.stop != StopReason::stop_token;
  if (harmony_ && wire() == WireFormat::tool) return harmony_->parse(sample.tokens, cut);
  return parse_forecast(tokenizer_->decode(sample.tokens), cut ? Completion::truncated : Completion::stopped, wire());
}

AnswerTokens PromptEncoder::answer(Bin bin, const Probabilities& p) const {
  if (harmony_ && wire() == WireFormat::tool) return harmony_->answer(bin, p);
  AnswerTokens answer{{bin_tokens_.at(static_cast<std::size_t>(bin - 1))}, 0};
  if (wire() == WireFormat::direct) return answer;
  for (const int step : probability_steps(p)) {
    answer.tokens.push_back(probability_tokens_[static_cast<std::size_t>(step)]);
  }
  answer.tokens.push_back(stop_token_);
  return answer;
}

SamplingOptions PromptEncoder::sampling(double temperature) const {
  SamplingOptions options;
  options.temperature = temperature;
  options.max_new_tokens = wire() == WireFormat::tool ? format_.max_new_tokens : kCompactTokens;
  if (harmony_) options.batch_rows = 16;  // long answers: the cache of a row holds thousands of tokens
  options.stop_tokens = harmony_ ? harmony_->stop_tokens() : std::vector<TokenId>{stop_token_};
  return options;
}

}  // namespace kc
