#include "harmony/specials.h"

#include "base/error.h"

namespace kc {

std::optional<HarmonySpecials> HarmonySpecials::find(const Tokenizer& tokenizer) {
  try {
    HarmonySpecials ids;
    ids.end_of_text = tokenizer.id_of("<|endoftext|>");
    ids.returns = tokenizer.id_of("<|return|>");
    ids.constrain = tokenizer.id_of("<|constrain|>");
    ids.channel = tokenizer.id_of("<|channel|>");
    ids.start = tokenizer.id_of("<|start|>");
    ids.end = tokenizer.id_of("<|end|>");
    ids.message = tokenizer.id_of("<|message|>");
    ids.call = tokenizer.id_of("<|call|>");
    return ids;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::bad_data) throw;
    return std::nullopt;
  }
}

}  // namespace kc
