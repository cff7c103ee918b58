#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include <ATen/core/Tensor.h>
#include <ATen/ops/ones.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json.h"
#include "model/language_model.h"
#include "model/safetensors_torch.h"
#include "tests/model/torch_support.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

std::shared_ptr<const Tokenizer> some_tokenizer(const std::string& text = "a = b + c;\nblock_size_x 32\n") {
  return train_tokenizer({text}, {.size = 300, .reserved = {"<|answer|>"}});
}

class ModelFolder : public testing::Test {
 protected:
  ModelFolder() {
    GptOssConfig config = small_config();
    config.original_max_position_embeddings = 64;
    config.rope_factor = 8;
    config.sliding_layers = {true, true, false};
    LanguageModel(config, some_tokenizer(), RngStream(1))
        .save(path(), {.parent = "abc", .step = 12, .stage = "warmup"});
  }
  std::filesystem::path path() const { return folder_.path(); }
  std::filesystem::path weights() const { return path() / "model.safetensors"; }
  void expect_refused(const testing::Matcher<std::string>& message) const {
    EXPECT_ERROR(LanguageModel::load(path()), ErrorKind::bad_data, message);
  }
  void change_config(const std::function<void(json&)>& change) const {
    json config = read_json_file(path() / "config.json");
    change(config);
    write_json_file(path() / "config.json", config);
  }
  void change_tensors(const std::function<void(std::map<std::string, at::Tensor>&)>& change) const {
    auto tensors = read_safetensors(weights());
    change(tensors);
    write_safetensors(weights(), tensors);
  }

 private:
  test::TempFolder folder_;
};

TEST_F(ModelFolder, LoadsAsItWasSaved) {
  const LanguageModel model = LanguageModel::load(path());
  EXPECT_EQ(model.manifest().parent, "abc");
  EXPECT_EQ(model.manifest().step, 12);
  EXPECT_EQ(model.manifest().stage, "warmup");
  EXPECT_EQ(model.config().sliding_layers, (std::vector<bool>{true, true, false}));
  EXPECT_EQ(model.config().original_max_position_embeddings, 64);
  EXPECT_EQ(model.config().rope_factor, 8);
  EXPECT_EQ(model.config().vocab_size, model.tokenizer().vocabulary_size());
  const test::TempFolder again;
  model.save(again.path(), model.manifest());
  for (const char* name :
       {"config.json", "generation_config.json", "model.safetensors", "tokenizer.model", "manifest.json"})
    EXPECT_EQ(read_file(path() / name), read_file(again.path() / name)) << name;
}

TEST_F(ModelFolder, AMovedModelStillSamplesFromItsOwnWeights) {
  LanguageModel first = LanguageModel::load(path());
  LanguageModel second = std::move(first);
  const std::vector<SampleRequest> requests = {{{4, 5, 6}, 2, RngStream(1)}};
  EXPECT_EQ(second.sampler().sample(requests, {.max_new_tokens = 3}, {})[0].size(), 2U);
}

TEST_F(ModelFolder, TakesAVocabularyFromElsewhereWhenItHoldsNone) {
  const std::string own = LanguageModel::load(path()).tokenizer().hash();
  const test::TempFolder elsewhere;
  some_tokenizer("for (;;) x[i] += y[j] * 2;\n")->save(elsewhere.path());
  EXPECT_EQ(LanguageModel::load(path(), {.vocabulary = elsewhere.path()}).tokenizer().hash(), own);
  std::filesystem::rename(path() / "tokenizer.model", elsewhere.path() / "own.model");
  expect_refused(AllOf(HasSubstr("no vocabulary"), HasSubstr("tokenizer.path")));
  EXPECT_EQ(LanguageModel::load(path(), {.vocabulary = elsewhere.path() / "own.model"}).tokenizer().hash(), own);
  EXPECT_ERROR(LanguageModel::load(path(), {.vocabulary = elsewhere.path()}), ErrorKind::bad_data,
               AllOf(HasSubstr(elsewhere.path().string()), HasSubstr("another model")));
}

// Its checkpoints would hold it as tokenizer.model, with which they could not be opened.
TEST_F(ModelFolder, RefusesASmallerSentencePieceVocabularyFromElsewhere) {
  std::filesystem::remove(path() / "tokenizer.model");
  std::filesystem::remove(path() / "manifest.json");
  const test::TempFolder elsewhere;
  train_tokenizer({"a = b + c;\n"}, {.size = 280, .reserved = {"<|answer|>"}})->save(elsewhere.path());
  for (const auto& vocabulary : {elsewhere.path(), elsewhere.path() / "tokenizer.model"})
    EXPECT_ERROR(LanguageModel::load(path(), {.vocabulary = vocabulary}), ErrorKind::bad_data,
                 AllOf(HasSubstr(elsewhere.path().string()), HasSubstr("another model")));
}

TEST_F(ModelFolder, Bfloat16WeightsComeBackAsTheyWere) {
  GptOssConfig config = small_config();
  config.dtype = "bfloat16";
  const LanguageModel model(config, some_tokenizer(), RngStream(1));
  const test::TempFolder folder;
  model.save(folder.path(), {});
  const LanguageModel loaded = LanguageModel::load(folder.path());
  EXPECT_EQ(loaded.config().dtype, "bfloat16");
  for (const auto& [name, tensor] : model.weights().tensors)
    EXPECT_TRUE(tensor.equal(loaded.weights().tensors.at(name))) << name;
}

TEST_F(ModelFolder, ReadsTheOlderWayToWriteRope) {
  change_config([](json& c) {
    c["rope_scaling"] = c["rope_parameters"];
    c["rope_theta"] = 5000.0;
    c["rope_scaling"].erase("rope_theta");
    c.erase("rope_parameters");
    c.erase("layer_types");
  });
  const GptOssConfig config = load_gpt_oss_config(path() / "config.json");
  EXPECT_EQ(config.rope_theta, 5000);
  EXPECT_EQ(config.rope_factor, 8);
  EXPECT_FALSE(config.rope_truncate);
  EXPECT_TRUE(config.slides(0));
  EXPECT_FALSE(config.slides(1));
}

TEST_F(ModelFolder, RefusesConfigurationsItDoesNotCompute) {
  const auto refused = [&](const std::string& key, const json& value) {
    const std::string kept = read_file(path() / "config.json");
    change_config([&](json& c) { c[json::json_pointer("/" + key)] = value; });
    const std::string last = key.substr(key.find_last_of('/') + 1);
    expect_refused(AllOf(HasSubstr("config.json"), HasSubstr(last)));
    write_file_atomically(path() / "config.json", kept);
  };
  refused("model_type", "llama");
  refused("hidden_act", "gelu");
  refused("quantization_config", {{"quant_method", "bitsandbytes"}});
  refused("rope_parameters/rope_type", "longrope");
  refused("rope_parameters/mscale", 0.7);
  refused("rope_parameters/attention_factor", 1.5);
  refused("layer_types", {"full_attention"});
  refused("layer_types", {"full_attention", "chunked_attention", "full_attention"});
  refused("attention_dropout", 0.1);
  refused("logit_softcap", 30.0);
  refused("num_experts_per_tok", 50);
  refused("num_key_value_heads", 3);
  refused("hidden_size", "24");
  refused("head_dim", 7);
  refused("dtype", "float16");
  change_config([](json& c) { c.erase("hidden_size"); });
  expect_refused(HasSubstr("hidden_size"));
}

TEST_F(ModelFolder, RefusesTensorsThatDoNotFitTheConfiguration) {
  const std::string name = "model.layers.1.mlp.experts.down_proj";
  const std::string kept = read_file(weights());
  change_tensors([&](auto& t) { t.at(name) = t.at(name).transpose(1, 2).contiguous(); });
  expect_refused(AllOf(HasSubstr("model.safetensors"), HasSubstr(name), HasSubstr("shape")));
  write_file_atomically(weights(), kept);
  change_tensors([&](auto& t) { t.at(name) = t.at(name).to(at::kBFloat16); });
  expect_refused(AllOf(HasSubstr(name), HasSubstr("dtype")));
  write_file_atomically(weights(), kept);
  change_tensors([&](auto& t) { t.erase(name); });
  expect_refused(AllOf(HasSubstr(name), HasSubstr("missing")));
  write_file_atomically(weights(), kept);
  change_tensors([&](auto& t) { t["model.layers.9.extra"] = at::ones({2}, at::kFloat); });
  expect_refused(AllOf(HasSubstr("model.layers.9.extra"), HasSubstr("unexpected")));
  write_file_atomically(weights(), kept);
  change_tensors([&](auto& t) { t.at(name).mul_(2); });
  expect_refused(AllOf(HasSubstr("SHA-256"), HasSubstr("manifest.json")));
}

TEST_F(ModelFolder, RefusesAnotherVocabulary) {
  const std::string kept = read_file(path() / "tokenizer.model");
  train_tokenizer({"quite another text"}, {.size = 290})->save(path());
  expect_refused(AllOf(HasSubstr("the vocabulary"), HasSubstr("vocab_size")));
  write_file_atomically(path() / "tokenizer.model", kept);
  json manifest = read_json_file(path() / "manifest.json");
  manifest["tokenizer_hash"] = std::string(64, '0');
  write_json_file(path() / "manifest.json", manifest);
  expect_refused(AllOf(HasSubstr("the vocabulary"), HasSubstr("another model")));
}

TEST_F(ModelFolder, ReadsShards) {
  const auto tensors = read_safetensors(weights());
  std::map<std::string, at::Tensor> parts[2];
  json map = json::object();
  int i = 0;
  for (const auto& [name, tensor] : tensors) {
    const int part = i++ % 2;
    parts[part][name] = tensor;
    map[name] = part == 0 ? "model-0.safetensors" : "model-1.safetensors";
  }
  write_safetensors(path() / "model-0.safetensors", parts[0]);
  write_safetensors(path() / "model-1.safetensors", parts[1]);
  std::filesystem::remove(weights());
  write_json_file(path() / "model.safetensors.index.json", {{"metadata", json::object()}, {"weight_map", map}});
  const LanguageModel model = LanguageModel::load(path());
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(tensor.equal(model.weights().tensors.at(name))) << name;
  std::filesystem::remove(path() / "model-1.safetensors");
  expect_refused(HasSubstr("model-1.safetensors"));
}

TEST_F(ModelFolder, RefusesDamagedFiles) {
  const std::string bytes = read_file(weights());
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, std::size_t{100}, bytes.size() - 1}) {
    write_file_atomically(weights(), bytes.substr(0, size));
    expect_refused(HasSubstr("model.safetensors"));
  }
  write_file_atomically(weights(), bytes + "x");
  expect_refused(HasSubstr("after the last tensor"));
  write_file_atomically(weights(), "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F" + bytes.substr(8));
  expect_refused(HasSubstr("header"));
  std::filesystem::remove(weights());
  expect_refused(HasSubstr("model.safetensors"));
  write_file_atomically(path() / "manifest.json", "{\"format_version\": 7}");
  expect_refused(AllOf(HasSubstr("manifest.json"), HasSubstr("format_version 7")));
}

class Container : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "t.safetensors"; }
  void write(const std::string& header, std::size_t data) const {
    std::string bytes(8, '\0');
    for (int i = 0; i < 8; ++i) bytes[static_cast<std::size_t>(i)] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
    write_file_atomically(file(), bytes + header + std::string(data, 'x'));
  }
  void expect_refused(const std::string& header, std::size_t data, const char* message) const {
    write(header, data);
    EXPECT_ERROR(read_safetensors(file()), ErrorKind::bad_data, AllOf(HasSubstr("t.safetensors"), HasSubstr(message)));
  }

 private:
  test::TempFolder folder_;
};

TEST_F(Container, RefusesHeadersThatLie) {
  expect_refused("[]", 0, "JSON object");
  expect_refused("{\"a\": 3}", 0, "\"a\"");
  expect_refused(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
      12, "overlaps");
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4, "truncated");
  expect_refused(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "need 12");
  expect_refused(R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})", 8, "F99");
  expect_refused(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "impossible");
  expect_refused(R"({"a":{"dtype":"F32","shape":[9223372036854775807,8],"data_offsets":[0,8]}})", 8, "impossible");
  expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}})", 12, "unused");
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "\"a\"");
}

TEST_F(Container, KeepsEveryTypeAndShape) {
  std::map<std::string, at::Tensor> tensors = {{"scalar", at::ones({}, at::kDouble)},
                                               {"empty", at::ones({0, 3}, at::kFloat)},
                                               {"half", at::ones({2, 3}, at::kBFloat16).mul(1.5)},
                                               {"ids", at::ones({4}, at::kLong)}};
  write_safetensors(file(), tensors);
  const std::string first = read_file(file());
  const auto read = read_safetensors(file());
  EXPECT_EQ(read.size(), tensors.size());
  for (const auto& [name, tensor] : tensors) EXPECT_TRUE(tensor.equal(read.at(name))) << name;
  write_safetensors(file(), tensors);
  EXPECT_EQ(read_file(file()), first);
}

TEST(ModelConfig, ReadsItsSectionAndReportsWhatCannotBe) {
  Config good = Config::parse("model:\n  hidden_size: 64\n  num_hidden_layers: 2\n", "test");
  const GptOssConfig c = read_gpt_oss_config(good);
  EXPECT_NO_THROW(good.finish());
  EXPECT_EQ(c.hidden_size, 64);
  EXPECT_EQ(c.num_hidden_layers, 2);
  Config bad = Config::parse("model:\n  head_dim: 7\n  num_experts_per_tok: 9\n", "test");
  read_gpt_oss_config(bad);
  EXPECT_ERROR(bad.finish(), ErrorKind::config, AllOf(HasSubstr("head_dim"), HasSubstr("num_experts_per_tok")));
}

}  // namespace
}  // namespace kc
