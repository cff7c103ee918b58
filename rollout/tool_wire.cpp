#include "rollout/tool_wire.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"

namespace kc {
namespace {

constexpr const char* kFixedReasoning = "Compare the work, the memory access and the parallelism of the two kernels.";

void append(std::vector<TokenId>& ids, const std::vector<TokenId>& more) {
  ids.insert(ids.end(), more.begin(), more.end());
}

std::string without_last_newlines(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

std::string rationale(Bin bin) {
  std::string name(bin_name(bin));
  std::replace(name.begin(), name.end(), '_', ' ');
  return fmt::format("The two kernels point to a {} on this device.", name);
}

DeveloperContent developer_content(const std::string& instructions) {
  const ToolDefinition tool{std::string(kToolName), tool_description(), tool_parameters()};
  return {.instructions = instructions, .tools = {{.tools = {tool}}}};
}

std::vector<TokenId> head_of_call(const HarmonyRenderer& renderer) {
  const HarmonyMessage reasoning = assistant_message(kAnalysisChannel, kFixedReasoning);
  std::vector<TokenId> ids = renderer.message(reasoning);
  const std::vector<TokenId> opening = renderer.completion_head();
  // The prompt has already begun the assistant's first message.
  ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(opening.size()));
  ids.push_back(renderer.specials().start);
  append(ids, renderer.header(function_call(std::string(kToolName), "")));
  append(ids, renderer.tokenizer().encode(kToolCallHead, false));
  return ids;
}

}  // namespace

ToolWire::ToolWire(std::shared_ptr<const Tokenizer> tokenizer, HarmonySpecials specials, const ToolWireOptions& options)
    : tokenizer_(std::move(tokenizer)),
      renderer_(*tokenizer_, specials),
      system_(
          renderer_.message(system_message({.date = options.date, .effort = options.effort, .has_functions = true}))),
      direct_suffix_(head_of_call(renderer_)) {
  for (Bin bin = 1; bin <= kBins; ++bin) {
    const std::vector<TokenId> digit = tokenizer_->encode(std::to_string(bin), false);
    if (digit.size() != 1) {
      throw Error(ErrorKind::bad_data, fmt::format("the vocabulary spells \"{}\" with {} tokens: the tool wire reads a "
                                                   "bin from one",
                                                   bin, digit.size()));
    }
    bin_tokens_.push_back(digit.front());
  }
}

ToolWire::EncodedPrompt ToolWire::prompt(const Prompt& prompt, std::int64_t max_tokens) const {
  EncodedPrompt result{system_, false};
  append(result.ids, renderer_.message(developer_message(developer_content(without_last_newlines(prompt.system)))));
  const HarmonyMessage user = user_message("");
  const std::vector<TokenId> text = tokenizer_->encode(without_last_newlines(prompt.user), false);
  const std::vector<TokenId> head = renderer_.completion_head();
  const auto frame = static_cast<std::int64_t>(result.ids.size() + renderer_.message(user).size() + head.size() +
                                               direct_suffix_.size());
  if (frame + kLeastUserTokens > max_tokens) {
    throw Error(
        ErrorKind::config,
        fmt::format("prompt.max_tokens is {}, but the parts of the prompt that are never cut (instructions, the "
                    "tool's definition) take {}: expected at least {}",
                    max_tokens, frame, frame + kLeastUserTokens));
  }
  const std::vector<TokenId> kept = cut_in_the_middles(text, max_tokens - frame);
  result.cut = kept.size() < text.size();
  append(result.ids, renderer_.message(user, kept));
  append(result.ids, head);
  return result;
}

AnswerTokens ToolWire::answer(Bin bin, const Probabilities& p) const {
  AnswerTokens answer{direct_suffix_, direct_suffix_.size()};
  const std::string arguments = tool_call_json(bin, p, rationale(bin));
  answer.tokens.push_back(bin_tokens_.at(static_cast<std::size_t>(bin - 1)));
  append(answer.tokens, tokenizer_->encode(std::string_view(arguments).substr(kToolCallHead.size() + 1), false));
  answer.tokens.push_back(call_token());
  return answer;
}

std::vector<TokenId> ToolWire::stop_tokens() const {
  const HarmonySpecials& ids = renderer_.specials();
  return {ids.call, ids.returns, ids.end_of_text};
}

ParsedForecast ToolWire::parse(std::span<const TokenId> completion, bool cut) const {
  return parse_tool_tokens(*tokenizer_, renderer_.specials(), completion, cut);
}

ParsedForecast parse_tool_tokens(const Tokenizer& tokenizer, const HarmonySpecials& specials,
                                 std::span<const TokenId> completion, bool cut, ParseRules rules) {
  const std::vector<ParsedMessage> messages = parse_completion(tokenizer, specials, completion);
  std::vector<std::string_view> arguments;
  for (const ParsedMessage& parsed : messages) {
    if (calls_function(parsed.message, kToolName)) arguments.push_back(parsed.message.content);
  }
  const bool turn_ended =
      !completion.empty() && (completion.back() == specials.call || completion.back() == specials.returns);
  const CallsEnd end = cut ? CallsEnd::cut : turn_ended ? CallsEnd::stopped : CallsEnd::unended;
  return read_tool_calls(arguments, end, rules);
}

std::vector<TokenId> cut_in_the_middles(const std::vector<TokenId>& ids, std::int64_t limit) {
  const auto size = static_cast<std::int64_t>(ids.size());
  if (size <= limit) return ids;
  const std::int64_t half = size / 2;
  const std::int64_t keep_first = limit / 2;
  const std::int64_t keep_second = limit - keep_first;
  std::vector<TokenId> kept;
  kept.reserve(static_cast<std::size_t>(limit));
  const auto append_range = [&](std::int64_t begin, std::int64_t end) {
    kept.insert(kept.end(), ids.begin() + begin, ids.begin() + end);
  };
  const auto append_ends = [&](std::int64_t begin, std::int64_t end, std::int64_t keep) {
    const std::int64_t head = (keep + 1) / 2;
    append_range(begin, begin + head);
    append_range(end - (keep - head), end);
  };
  append_ends(0, half, std::min(keep_first, half));
  append_ends(half, size, std::min(keep_second, size - half));
  return kept;
}

}  // namespace kc
