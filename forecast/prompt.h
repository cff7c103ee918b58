#pragma once
// The one place where prompts are built: for training, evaluation and use alike.
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

// A template file with the sections and placeholders described in its own head (configs/prompts/*.txt).
class PromptTemplate {
 public:
  static PromptTemplate load(
      const std::filesystem::path& file);  // Error{config}: missing section or unknown placeholder
  Prompt render(const PromptRequest& request, PromptStyle style, WireFormat wire) const;
  const std::string& hash() const { return hash_; }  // SHA-256 of the file

 private:
  std::string text_;
  std::string hash_;
};

}  // namespace kc
