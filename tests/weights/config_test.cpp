// config.json of every spelling, and what must be refused because it would change the arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"
#include "tests/weights/folders.h"
#include "tests/weights/published.h"
#include "weights/checkpoint_files.h"

namespace kc {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class ConfigJson : public testing::Test {
 protected:
  ConfigJson() { test::write_sparse_folder(folder_.path(), test::published_config(24, 32), 1); }
  std::filesystem::path file() const { return folder_ / "config.json"; }
  GptOssConfig changed(const std::function<void(json&)>& change) const {
    json root = read_json_file(file());
    change(root);
    write_json_file(folder_ / "changed.json", root);
    return load_gpt_oss_config(folder_ / "changed.json");
  }
  void expect_refused(const std::string& pointer, const json& value) const {
    const std::string key = pointer.substr(pointer.find_last_of('/') + 1);
    EXPECT_ERROR(changed([&](json& c) { c[json::json_pointer(pointer)] = value; }), ErrorKind::bad_data,
                 AllOf(HasSubstr("changed.json"), HasSubstr(key)));
  }

 private:
  test::TempFolder folder_;
};

TEST_F(ConfigJson, TheReleasesSpellingIsRead) {
  const GptOssConfig c = load_gpt_oss_config(file());
  EXPECT_EQ(c.experts, ExpertStorage::mxfp4);
  EXPECT_EQ(c.dtype, "bfloat16");
  EXPECT_EQ(c.rope_theta, 150000);
  EXPECT_EQ(c.rope_factor, 32);
  EXPECT_FALSE(c.rope_truncate);
  EXPECT_EQ(c.original_max_position_embeddings, 4096);
  EXPECT_EQ(c.sliding_window, 128);
  EXPECT_TRUE(c.slides(0));
  EXPECT_FALSE(c.slides(23));
}

TEST_F(ConfigJson, TheNewerSpellingMeansTheSame) {
  const GptOssConfig c = changed([](json& root) {
    root["rope_parameters"] = root["rope_scaling"];
    root["rope_parameters"]["rope_theta"] = 5000.0;
    root["rope_parameters"]["partial_rotary_factor"] = 1.0;
    root.erase("rope_scaling");
    root.erase("rope_theta");
    root["swiglu_alpha"] = 1.5;
    root["dtype"] = "float32";
  });
  EXPECT_EQ(c.rope_theta, 5000);
  EXPECT_EQ(c.rope_factor, 32);
  EXPECT_FALSE(c.rope_truncate);
  EXPECT_EQ(c.swiglu_alpha, 1.5);
  EXPECT_EQ(c.dtype, "float32");
}

TEST_F(ConfigJson, MessagesShowNoWholeObjects) {
  EXPECT_ERROR(changed([](json& root) { root["hidden_act"] = {{"name", "silu"}}; }), ErrorKind::bad_data,
               HasSubstr("an object is not supported (only \"silu\")"));
  write_file_atomically(file(), "{\"model_type\": " + std::string(200000, '[') + std::string(200000, ']') + "}");
  EXPECT_ERROR(load_gpt_oss_config(file()), ErrorKind::bad_data, AllOf(HasSubstr("config.json"), HasSubstr("deep")));
}

TEST_F(ConfigJson, AbsentKeysHaveTransformersDefaults) {
  const GptOssConfig c = changed([](json& root) {
    for (const char* key : {"sliding_window", "rope_scaling", "rope_theta", "rms_norm_eps", "swiglu_limit",
                            "layer_types", "attention_bias", "tie_word_embeddings", "quantization_config"})
      root.erase(key);
  });
  EXPECT_EQ(c.sliding_window, 128);
  EXPECT_EQ(c.rope_theta, 150000);
  EXPECT_EQ(c.rope_factor, 32);
  EXPECT_FALSE(c.rope_truncate);
  EXPECT_EQ(c.rms_norm_eps, 1e-5);
  EXPECT_EQ(c.swiglu_limit, 7);
  EXPECT_TRUE(c.attention_bias);
  EXPECT_FALSE(c.tie_word_embeddings);
  EXPECT_EQ(c.experts, ExpertStorage::expanded);
}

TEST_F(ConfigJson, TruncateIsTrueWhereYarnDoesNotSay) {
  EXPECT_TRUE(changed([](json& root) { root["rope_scaling"].erase("truncate"); }).rope_truncate);
}

TEST_F(ConfigJson, YarnWithoutAnOriginalContextTakesTheModelsAndNeedsAFactor) {
  const auto without = [&](const char* key) {
    return changed([key](json& root) {
      root["max_position_embeddings"] = 2048;
      root["rope_scaling"].erase(key);
    });
  };
  EXPECT_EQ(without("original_max_position_embeddings").original_max_position_embeddings, 2048);
  EXPECT_ERROR(without("factor"), ErrorKind::bad_data,
               AllOf(HasSubstr("changed.json"), HasSubstr("rope_scaling.factor"), HasSubstr("missing")));
}

TEST_F(ConfigJson, OutOfRangeNamesTheKey) {
  expect_refused("/swiglu_limit", 0.0);
  expect_refused("/rms_norm_eps", -1.0);
  expect_refused("/num_hidden_layers", 1 << 24);
}

TEST_F(ConfigJson, PackedExpertsNeedSizesOfWholeBlocks) {
  for (const char* key : {"hidden_size", "intermediate_size"}) {
    const auto odd = [&](json& root) { root[key] = 2888; };
    EXPECT_ERROR(changed(odd), ErrorKind::bad_data,
                 AllOf(HasSubstr("changed.json"), HasSubstr(key), HasSubstr("2888"), HasSubstr("32")));
    const auto odd_and_expanded = [&](json& root) {
      odd(root);
      root.erase("quantization_config");
    };
    EXPECT_NO_THROW(changed(odd_and_expanded));
  }
}

TEST_F(ConfigJson, ForeignKeysAreShownWithoutTheirControlCharacters) {
  EXPECT_ERROR(changed([](json& root) { root["a\x1b[2J\nb"] = 1; }), ErrorKind::bad_data,
               AllOf(HasSubstr("changed.json"), HasSubstr("\"a\\x1b[2J\\nb\"")));
}

TEST_F(ConfigJson, APipeInItsPlaceIsRefused) {
  std::filesystem::remove(file());
  ASSERT_EQ(::mkfifo(file().c_str(), 0600), 0);
  EXPECT_ERROR(load_gpt_oss_config(file()), ErrorKind::bad_data,
               AllOf(HasSubstr("config.json"), HasSubstr("expected a regular file")));
  EXPECT_ERROR(load_checkpoint_config(file().parent_path()), ErrorKind::bad_data, HasSubstr("expected a regular file"));
}

TEST_F(ConfigJson, WhatChangesTheArithmeticIsRefused) {
  expect_refused("/quantization_config/quant_method", "bitsandbytes");
  expect_refused("/rope_scaling/rope_type", "llama3");
  expect_refused("/rope_scaling/attention_factor", 1.2);
  expect_refused("/rope_scaling/mscale", 0.7);
  expect_refused("/rope_scaling/partial_rotary_factor", 0.5);
  expect_refused("/rope_scaling", nullptr);
  expect_refused("/rope_theta", "150000");
  expect_refused("/sliding_window", nullptr);
  expect_refused("/swiglu_limit", nullptr);
  expect_refused("/hidden_act", "gelu");
  expect_refused("/hidden_act", nullptr);
  expect_refused("/experts_per_token", 2);
  expect_refused("/attention_dropout", 0.1);
  expect_refused("/output_router_logits", true);
  expect_refused("/use_qk_norm", true);
  expect_refused("/final_logit_softcapping", 30.0);
  expect_refused("/num_shared_experts", 1);
  expect_refused("/architectures", {"GptOssForSequenceClassification"});
  EXPECT_ERROR(changed([](json& root) { root["rope_parameters"] = {{"rope_type", "default"}}; }), ErrorKind::bad_data,
               AllOf(HasSubstr("rope_scaling"), HasSubstr("differs")));
}

TEST_F(ConfigJson, APackedConfigurationComesBackAsItWasSaved) {
  const GptOssConfig before = load_gpt_oss_config(file());
  save_gpt_oss_config(before, file());
  const GptOssConfig after = load_gpt_oss_config(file());
  EXPECT_EQ(after.experts, ExpertStorage::mxfp4);
  EXPECT_EQ(after.dtype, "bfloat16");
  EXPECT_EQ(after.rope_factor, 32);
  EXPECT_EQ(after.parameter_count(), 20'914'757'184);
}

TEST_F(ConfigJson, SomeLayersExpertsMayBeExpanded) {
  EXPECT_EQ(load_gpt_oss_config(file()).expanded_layers, std::vector<bool>{});
  GptOssConfig mixed = load_gpt_oss_config(file());
  mixed.expanded_layers.resize(static_cast<std::size_t>(mixed.num_hidden_layers));
  mixed.expanded_layers[3] = true;
  save_gpt_oss_config(mixed, file());
  const GptOssConfig after = load_gpt_oss_config(file());
  EXPECT_EQ(after.expanded_layers, mixed.expanded_layers);
  EXPECT_EQ(after.experts_of(3), ExpertStorage::expanded);
  EXPECT_EQ(after.experts_of(2), ExpertStorage::mxfp4);
  json root = read_json_file(file());
  root["quantization_config"]["modules_to_not_convert"] = {"model.layers.99.mlp.experts", "model.layers.x.mlp.experts",
                                                           "model.layers.03.mlp.experts", 7};
  write_json_file(file(), root);
  EXPECT_EQ(load_gpt_oss_config(file()).expanded_layers, std::vector<bool>{});
}

TEST(OriginalConfig, IsReadByItsOwnKeys) {
  const test::TempFolder folder;
  GptOssConfig c = test::tiny_config(ExpertStorage::mxfp4);
  c.rope_beta_fast = 30;
  c.rope_beta_slow = 2;
  test::write_original(folder.path(), c, test::random_tensors(c, 3));
  const GptOssConfig read = load_checkpoint_config(folder.path());
  EXPECT_EQ(read.num_local_experts, c.num_local_experts);
  EXPECT_EQ(read.num_experts_per_tok, c.num_experts_per_tok);
  EXPECT_EQ(read.rope_beta_fast, 30);
  EXPECT_EQ(read.rope_beta_slow, 2);
  EXPECT_EQ(read.original_max_position_embeddings, 4096);
  EXPECT_EQ(read.max_position_embeddings, 131072);
  EXPECT_EQ(read.sliding_window, 16);
  EXPECT_FALSE(read.rope_truncate);
  EXPECT_TRUE(read.slides(0));
  json root = read_json_file(folder / "config.json");
  root["attention_sinks"] = false;
  write_json_file(folder / "config.json", root);
  EXPECT_ERROR(load_checkpoint_config(folder.path()), ErrorKind::bad_data, HasSubstr("attention_sinks"));
  root.erase("attention_sinks");
  root["intermediate_size"] = 40;
  write_json_file(folder / "config.json", root);
  EXPECT_ERROR(load_checkpoint_config(folder.path()), ErrorKind::bad_data,
               AllOf(HasSubstr("config.json"), HasSubstr("intermediate_size"), HasSubstr("40")));
}

}  // namespace
}  // namespace kc
