#pragma once
// `checkpoint logits`: a model's logits of given tokens in a file, for anyone who wants to compare. The folder needs no
// tokenizer.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/command_line.h"
#include "tokenizer/tokenizer.h"
#include "weights/gpt_oss_config.h"

namespace kc {

// Token ids of a JSON file: a list, or an object whose key "tokens" holds one. Error{bad_data} names the file and the
// entry: not a whole number, outside [0, vocabulary), or no tokens at all.
std::vector<TokenId> read_token_file(const std::filesystem::path& file, std::int64_t vocabulary);

struct LogitsJob {
  std::filesystem::path model;                // folder of any layout that CheckpointFiles opens
  std::filesystem::path tokens;               // see read_token_file
  std::filesystem::path out;                  // safetensors file; replaced when it exists
  std::optional<ExpertStorage> experts = {};  // how experts are kept; nothing: as stored
};
// Writes one tensor `logits` [T, V] in fp32: row t is of the token after the first t + 1. Rows are computed and written
// a few at a time, so memory holds no [T, V]. The file is whole or absent. Returns T.
std::int64_t write_logits(const LogitsJob& job);

// The subcommand; what its options are written to lives as long as `line`.
void add_logits_command(CommandLine& line);

}  // namespace kc
