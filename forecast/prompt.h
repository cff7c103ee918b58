#pragma once
// The one place where prompts are built: for training, evaluation and use alike.
#include <cstddef>
#include <filesystem>
#include <string>

#include "forecast/hardware.h"
#include "forecast/kernel_text.h"

namespace kc {

enum class PromptStyle {
  full,  // both sources whole
  diff,  // the lines that differ; for instances of one template all tunables as `name value`
};

enum class WireFormat {
  direct,   // no sampling: the next-token distribution over the eight answer tokens
  compact,  // bin token, eight probability tokens, stop
  tool,     // one JSON call of submit_kernel_runtime_estimate after free reasoning
};

PromptStyle prompt_style_of(const std::string& name);  // Error{config} when unknown
WireFormat wire_format_of(const std::string& name);
std::string name_of(PromptStyle style);
std::string name_of(WireFormat wire);

struct PromptRequest {
  std::string task;
  KernelText reference;
  KernelText candidate;
  Hardware hardware;
};

struct Prompt {
  std::string system;  // empty for the short prompts of `direct` and `compact`
  std::string user;
};

// Limits of the blocks of style `diff` when the kernels are not instances of one template.
inline constexpr std::size_t kDiffBlockLines = 24;  // lines per block; what is left out is one line "..."
inline constexpr std::size_t kDiffLineBytes = 160;  // longer lines are cut and end in "..."

// A template file with the sections and placeholders described in its own head (configs/prompts/default.txt). The long
// form (system, user) serves `tool`, the short form `compact` and `direct`; the short form ends in a newline, after
// which the encoder appends the answer piece. Source names never enter a prompt: they could give the answer away.
class PromptTemplate {
 public:
  // Error{config}: missing or repeated section, unknown placeholder; Error{bad_data}: unreadable file.
  static PromptTemplate load(const std::filesystem::path& file);
  Prompt render(const PromptRequest& request, PromptStyle style, WireFormat wire) const;
  const std::string& hash() const { return hash_; }  // SHA-256 of the file

 private:
  std::string system_;
  std::string user_;
  std::string short_;
  std::string hash_;
};

}  // namespace kc
