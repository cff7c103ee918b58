#pragma once
// How config.json of a model folder is read: used by gpt_oss_config_json.cpp only.
#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/json.h"

namespace kc::config_reader {

using nlohmann::json;

// Keys that are known not to change the forward pass, or that are checked on their own below.
inline constexpr std::array kHarmlessKeys = {"_name_or_path",
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

[[noreturn]] inline void fail(const std::filesystem::path& file, const std::string& key, const std::string& problem) {
  throw Error(ErrorKind::bad_data, fmt::format("{}: key \"{}\": {}", file.string(), key, problem));
}

// Reads keys of one object and remembers which were read, so that the rest can be refused.
class Reader {
 public:
  Reader(const json& object, const std::filesystem::path& file, std::string prefix)
      : object_(object), file_(file), prefix_(std::move(prefix)) {
    if (object_.is_object()) return;
    if (prefix_.empty()) throw Error(ErrorKind::bad_data, file_.string() + ": expected an object");
    fail(file_, prefix_.substr(0, prefix_.size() - 1), "expected an object");
  }

  template <class T>
  void get(const char* key, T& value) {
    read_.push_back(key);
    const auto it = object_.find(key);
    if (it == object_.end()) return;
    if (it->is_null()) fail(file_, prefix_ + key, "null is not supported: give a value, or remove the key");
    const bool fits = std::is_same_v<T, bool> ? it->is_boolean()
                      : std::is_integral_v<T> ? it->is_number_integer()
                                              : it->is_number();
    if (!fits) fail(file_, prefix_ + key, fmt::format("{} has the wrong type", shown(*it)));
    value = it->get<T>();
  }
  void get_size(const char* key, std::int64_t& value, std::int64_t most = std::int64_t{1} << 24) {
    if (!object_.contains(key)) fail(file_, prefix_ + key, "missing; it is required");
    get(key, value);
    if (value < 1 || value > most) fail(file_, prefix_ + key, fmt::format("out of range (1 to {})", most));
  }
  const json* find(const char* key) {
    read_.push_back(key);
    const auto it = object_.find(key);
    return it == object_.end() || it->is_null() ? nullptr : &*it;
  }
  void refuse_others() const {
    refuse([](const std::string& key) { return std::ranges::count(kHarmlessKeys, key) > 0; });
  }
  void refuse_all_others() const {
    refuse([](const std::string&) { return false; });
  }

 private:
  template <class F>
  void refuse(const F& harmless) const {
    for (const auto& [key, value] : object_.items())
      if (!value.is_null() && std::ranges::count(read_, key) == 0 && !harmless(key))
        fail(file_, prefix_ + key, "not supported: it may change the arithmetic. Remove it if it does not");
  }

  const json& object_;
  const std::filesystem::path& file_;
  std::string prefix_;
  std::vector<std::string> read_;
};

}  // namespace kc::config_reader
