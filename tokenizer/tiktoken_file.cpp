#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "tokenizer/byte_pair_vocabulary.h"

namespace kc {
namespace {

constexpr std::size_t kO200kTokens = 199'998;
constexpr std::string_view kO200kHash = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d";

std::string from_base64(std::string_view text) {
  std::string bytes(text.size() / 4 * 3 + 3, '\0');
  const int length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (length < 0 || text.size() % 4 != 0) return {};
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  bytes.resize(static_cast<std::size_t>(length) - padding);  // the decoder gives padding back as zero bytes
  return bytes;
}

// One line into its place; what is wrong with it otherwise.
std::string read_line(std::string_view line, std::vector<std::string>& tokens) {
  const std::size_t space = line.find(' ');  // npos is above the limit, too
  if (space > 1'000'000) return "expected \"BASE64 RANK\"";
  std::string bytes = from_base64(line.substr(0, space));
  if (bytes.empty()) return "the first word is not base64 of at least one byte";
  const char* end = line.data() + line.size();
  std::size_t rank = 0;
  const auto [stop, fault] = std::from_chars(line.data() + space + 1, end, rank);
  if (fault != std::errc() || stop != end || rank > 16'000'000) return "the second word is not a rank (0 to 16000000)";
  if (rank >= tokens.size()) tokens.resize(rank + 1);
  if (!tokens[rank].empty()) return fmt::format("rank {} is given twice", rank);
  tokens[rank] = std::move(bytes);
  return {};
}

void say_which_table(std::string_view text, std::size_t tokens, const std::string& name) {
  if (tokens != kO200kTokens) return;
  const std::string hash = sha256_hex(text);
  if (hash != kO200kHash)
    log::warning(fmt::format("{}: has o200k_base's size, but SHA-256 {} instead of {}", name, hash, kO200kHash));
}

}  // namespace

ByteVocabulary parse_tiktoken(std::string_view text, const std::string& name) {
  ByteVocabulary vocabulary;
  vocabulary.tokens.reserve(text.size() / 16);
  std::size_t number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) {
      if (const std::string fault = read_line(line, vocabulary.tokens); !fault.empty())
        throw Error(ErrorKind::bad_data,
                    fmt::format("{}:{}: not a line of a tiktoken rank file: {}", name, number, fault));
    }
    at = end + 1;
  }
  for (std::size_t rank = 0; rank < vocabulary.tokens.size(); ++rank)
    if (vocabulary.tokens[rank].empty())
      throw Error(ErrorKind::bad_data, fmt::format("{}: rank {} of {} is missing: is the file cut short?", name, rank,
                                                   vocabulary.tokens.size()));
  say_which_table(text, vocabulary.tokens.size(), name);
  vocabulary.reserved = harmony_reserved(vocabulary.tokens.size());
  return vocabulary;
}

ReservedPieces harmony_reserved(std::size_t byte_tokens) {
  constexpr TokenId kFirst = 199'998;
  constexpr TokenId kEndOfPrompt = 200'018;
  constexpr TokenId kLast = 201'087;
  const TokenId shift = static_cast<TokenId>(byte_tokens) - kFirst;
  const std::vector<std::pair<std::string_view, TokenId>> named = {
      {"startoftext", 199'998}, {"endoftext", 199'999},       {"return", 200'002}, {"constrain", 200'003},
      {"channel", 200'005},     {"start", 200'006},           {"end", 200'007},    {"message", 200'008},
      {"call", 200'012},        {"endofprompt", kEndOfPrompt}};
  ReservedPieces pieces;
  for (TokenId id = kFirst; id <= (shift == 0 ? kLast : kEndOfPrompt); ++id) {
    const auto found = std::find_if(named.begin(), named.end(), [&](const auto& entry) { return entry.second == id; });
    if (found != named.end())
      pieces.emplace_back(fmt::format("<|{}|>", found->first), id + shift);
    else
      pieces.emplace_back(fmt::format("<|reserved_{}|>", id + shift), id + shift);
  }
  return pieces;
}

}  // namespace kc
