#include "weights/config_reader.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"
#include "base/printable.h"

namespace kc::config_reader {
namespace {

using nlohmann::json;

// Keys that are known not to change the forward pass, or that are checked on their own below.
constexpr std::array kHarmlessKeys = {"_name_or_path",
                                      "architectures",
                                      "attention_dropout",
                                      "bos_token_id",
                                      "chunk_size_feed_forward",
                                      "dtype",
                                      "eos_token_id",
                                      "experts_per_token",
                                      "id2label",
                                      "initial_context_length",
                                      "initializer_range",
                                      "is_encoder_decoder",
                                      "label2id",
                                      "model_type",
                                      "output_attentions",
                                      "output_hidden_states",
                                      "output_router_logits",
                                      "pad_token_id",
                                      "problem_type",
                                      "return_dict",
                                      "router_aux_loss_coef",
                                      "torch_dtype",
                                      "transformers_version",
                                      "use_cache",
                                      "layer_types",
                                      "hidden_act",
                                      "rope_parameters",
                                      "rope_scaling",
                                      "rope_theta",
                                      "quantization_config",
                                      "num_experts"};

bool is_harmless(const std::string& key) { return std::ranges::count(kHarmlessKeys, key) > 0; }

}  // namespace

void fail(const std::filesystem::path& file, const std::string& key, const std::string& problem) {
  throw Error(ErrorKind::bad_data, printable(fmt::format("{}: key \"{}\": {}", file.string(), key, problem)));
}

Reader::Reader(const json& object, const std::filesystem::path& file, std::string prefix)
    : object_(object), file_(file), prefix_(std::move(prefix)) {
  if (object_.is_object()) return;
  if (prefix_.empty()) throw Error(ErrorKind::bad_data, file_.string() + ": expected an object");
  fail(file_, prefix_.substr(0, prefix_.size() - 1), "expected an object");
}

template <class T>
void Reader::get(const char* key, T& value) {
  read_.emplace_back(key);
  const auto it = object_.find(key);
  if (it == object_.end()) return;
  if (it->is_null()) fail(file_, prefix_ + key, "null is not supported: give a value, or remove the key");
  const bool fits = std::is_same_v<T, bool> ? it->is_boolean()
                    : std::is_integral_v<T> ? it->is_number_integer()
                                            : it->is_number();
  if (!fits) fail(file_, prefix_ + key, fmt::format("{} has the wrong type", shown(*it)));
  value = it->get<T>();
}
template void Reader::get<bool>(const char*, bool&);
template void Reader::get<double>(const char*, double&);
template void Reader::get<std::int64_t>(const char*, std::int64_t&);

void Reader::get_size(const char* key, std::int64_t& value, std::int64_t most) {
  if (!object_.contains(key)) fail(file_, prefix_ + key, "missing; it is required");
  get(key, value);
  if (value < 1 || value > most) fail(file_, prefix_ + key, fmt::format("out of range (1 to {})", most));
}

const json* Reader::find(const char* key) {
  read_.emplace_back(key);
  const auto it = object_.find(key);
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

void Reader::refuse_others() const { refuse(is_harmless); }

void Reader::refuse_all_others() const {
  refuse([](const std::string&) { return false; });
}

void Reader::refuse(bool (*harmless)(const std::string&)) const {
  for (const auto& [key, value] : object_.items())
    if (!value.is_null() && std::ranges::count(read_, key) == 0 && !harmless(key))
      fail(file_, prefix_ + key, "not supported: it may change the arithmetic. Remove it if it does not");
}

}  // namespace kc::config_reader
