#pragma once
// The texts that replace a template's placeholders. Internal to prompt.cpp.
#include <string>
#include <string_view>

#include "forecast/prompt.h"

namespace kc {

bool is_prompt_field(std::string_view name);

class PromptFields {
 public:
  // `request` must outlive the object.
  PromptFields(const PromptRequest& request, PromptStyle style);
  std::string text(std::string_view name) const;  // precondition: is_prompt_field(name)

 private:
  const PromptRequest& request_;
  std::string reference_;
  std::string candidate_;
};

}  // namespace kc
