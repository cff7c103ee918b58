// Folding an adapter into a folder: the same logits as base and adapter side by side.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include <ATen/ops/all.h>
#include <ATen/ops/item.h>
#include <ATen/ops/matmul.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json.h"
#include "model/language_model.h"
#include "model/lora_files_torch.h"
#include "model/merge.h"
#include "tests/model/torch_support.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"
#include "tests/weights/folders.h"
#include "weights/checkpoint_files.h"
#include "weights/verification.h"

namespace kc {
namespace {

namespace fs = std::filesystem;

std::shared_ptr<const Tokenizer> some_tokenizer() {
  return train_tokenizer({"for (int i = 0; i < n; ++i) a[i] = b[i] + 1;\n"}, {.size = 300, .reserved = {"<|answer|>"}});
}

class MergeFolders : public testing::Test {
 protected:
  void write_base(GptOssConfig config) {
    LanguageModel model(std::move(config), some_tokenizer(), RngStream(3));
    model.weights() = random_weights(model.config(), 5);
    fs::create_directories(base());
    model.save(base(), {});
  }
  // The base with a random adapter, which is stored as well.
  LanguageModel write_adapter(bool shared, std::vector<std::string> targets = {"attention", "experts", "unembedding"},
                              double deviation = 0.3) {
    LanguageModel model = LanguageModel::load(base());
    LoraOptions options;
    options.rank = 3;
    options.alpha = 4;
    options.shared_experts = shared;
    options.targets = std::move(targets);
    model.add_adapter(options, RngStream(2));
    for (auto& [name, tensor] : model.weights().adapter.tensors) {
      RngStream rng = RngStream(8).child(name);
      for (std::int64_t i = 0; i < tensor.numel(); ++i)
        tensor.mutable_data_ptr<float>()[i] = static_cast<float>(rng.normal() * deviation);
    }
    fs::create_directories(adapter());
    model.save(adapter(), {});
    return model;
  }
  static at::Tensor logits(const LanguageModel& model) {
    return all_logits(model.config(), model.weights(), full_batch(random_ids(2, 30, model.config().vocab_size, 17)));
  }
  fs::path base() const { return folder_.path() / "base"; }
  fs::path adapter() const { return folder_.path() / "adapter"; }
  fs::path out() const { return folder_.path() / "out"; }

  test::TempFolder folder_;
};

TEST_F(MergeFolders, GiveTheSameLogits) {
  for (const bool shared : {true, false}) {
    write_base(small_config());
    const LanguageModel adapted = write_adapter(shared);
    const Merge done = merge_adapter(base(), adapter(), out(), {});
    EXPECT_EQ(done.changed, small_config().num_hidden_layers * 6 + 1);
    const LanguageModel merged = LanguageModel::load(out());
    EXPECT_FALSE(merged.has_adapter());
    EXPECT_LE(relative_error(logits(merged), logits(adapted)), 1e-5);
    EXPECT_GT(relative_error(logits(merged), logits(LanguageModel::load(base()))), 1e-2);
  }
}

TEST_F(MergeFolders, RefuseAnAdapterThatOverflows) {
  write_base(small_config());
  (void)write_adapter(true, {"attention"});
  nlohmann::json config = read_json_file(adapter() / "adapter_config.json");
  config["lora_alpha"] = 1e308;
  write_json_file(adapter() / "adapter_config.json", config);
  EXPECT_ERROR(merge_adapter(base(), adapter(), out(), {}), ErrorKind::bad_data,
               testing::AllOf(testing::HasSubstr("self_attn.q_proj.weight"), testing::HasSubstr("lora_alpha")));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(MergeFolders, WarnOfABaseThatTheAdapterWasNotTrainedOn) {
  write_base(small_config());
  (void)write_adapter(true, {"attention"});
  const auto warnings = [&] {
    testing::internal::CaptureStderr();
    merge_adapter(base(), adapter(), out(), {});
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(warnings().find("trained on another folder"), std::string::npos);
  GptOssConfig other = small_config();
  other.rms_norm_eps = 1e-6;
  write_base(other);
  EXPECT_NE(warnings().find("trained on another folder"), std::string::npos);
}

TEST_F(MergeFolders, LeaveUnchangedTensorsBitForBit) {
  write_base(small_config());
  (void)write_adapter(true, {"experts"});
  merge_adapter(base(), adapter(), out(), {});
  const LanguageModel before = LanguageModel::load(base());
  const LanguageModel after = LanguageModel::load(out());
  for (const auto& [name, tensor] : before.weights().tensors) {
    const bool expected =
        name.find("experts.gate_up_proj") == std::string::npos && name.find("experts.down_proj") == std::string::npos;
    if (expected || name.ends_with("_bias")) {
      EXPECT_TRUE(tensor.equal(after.weights().tensors.at(name))) << name;
    } else {
      EXPECT_FALSE(tensor.equal(after.weights().tensors.at(name))) << name;
    }
  }
}

TEST_F(MergeFolders, GiveATiedHeadItsOwnMatrix) {
  GptOssConfig config = small_config();
  config.tie_word_embeddings = true;
  write_base(config);
  const LanguageModel adapted = write_adapter(true);
  merge_adapter(base(), adapter(), out(), {});
  const LanguageModel merged = LanguageModel::load(out());
  EXPECT_FALSE(merged.config().tie_word_embeddings);
  EXPECT_LE(relative_error(logits(merged), logits(adapted)), 1e-5);
}

TEST_F(MergeFolders, RoundOnceInBfloat16) {
  GptOssConfig config = small_config();
  config.dtype = "bfloat16";
  config.num_experts_per_tok = config.num_local_experts;
  write_base(config);
  const LanguageModel adapted = write_adapter(false);
  merge_adapter(base(), adapter(), out(), {});
  const LanguageModel merged = LanguageModel::load(out());
  const LowRank pair = low_rank(adapted.weights().adapter, "model.layers.1.self_attn.v_proj");
  const std::string name = "model.layers.1.self_attn.v_proj.weight";
  const at::Tensor delta = pair.b.to(at::kDouble).mm(pair.a.to(at::kDouble)).mul(pair.scale);
  const at::Tensor exact = adapted.weights().tensors.at(name).to(at::kDouble).add(delta);
  EXPECT_LE(relative_error(merged.weights().tensors.at(name), exact), 1.0 / 256);
}

// Bases whose experts are MXFP4.
class MergePackedFolders : public MergeFolders {
 protected:
  void write_packed_base(const std::string& dtype) {
    const auto tokenizer = some_tokenizer();
    GptOssConfig config = test::tiny_config(ExpertStorage::mxfp4, dtype);
    config.vocab_size = tokenizer->vocabulary_size();
    config.num_experts_per_tok = config.num_local_experts;  // no router ties that rounding could flip
    tensors_ = test::random_tensors(config, 7);
    for (auto& [name, bytes] : tensors_)  // outputs of order 1, as trained experts have
      if (name.ends_with("_scales"))
        for (std::byte& scale : bytes) scale = static_cast<std::byte>(static_cast<int>(scale) - 3);
    test::write_folder(base(), config, tensors_);
    tokenizer->save(base());
  }
  // Smaller than the base's weights, as a trained one is.
  LanguageModel write_mild_adapter(bool shared,
                                   std::vector<std::string> targets = {"attention", "experts", "unembedding"}) {
    return write_adapter(shared, std::move(targets), 0.1);
  }
  // Expert tensors of the merged folder: those of a packed layer are the base's to the byte.
  void expect_packed(std::int64_t layer) const {
    const CheckpointFiles files(out());
    EXPECT_EQ(files.config().experts_of(layer), ExpertStorage::mxfp4);
    for (const char* name : {"gate_up_proj_blocks", "gate_up_proj_scales", "down_proj_blocks", "down_proj_scales"}) {
      const std::string tensor = layer_name(layer, std::string("mlp.experts.") + name);
      const StoredTensor found = files.find(tensor);
      ASSERT_NE(found.file, nullptr) << tensor;
      const auto bytes = found.file->data(*found.entry);
      EXPECT_TRUE(std::ranges::equal(bytes, tensors_.at(tensor))) << tensor;
    }
    EXPECT_THAT(verify_checkpoint(out()).problems, testing::IsEmpty());
  }
  test::TensorBytes tensors_;
};

TEST_F(MergePackedFolders, GiveTheSameLogits) {
  for (const bool shared : {true, false}) {
    write_packed_base("float32");
    const LanguageModel adapted = write_mild_adapter(shared);
    const at::Tensor wanted = logits(adapted);
    for (const ExpertStorage experts : {ExpertStorage::mxfp4, ExpertStorage::expanded})
      EXPECT_TRUE(logits(LanguageModel::load(adapter(), {.experts = experts})).equal(wanted));
    merge_adapter(base(), adapter(), out(), {});
    const LanguageModel merged = LanguageModel::load(out());
    EXPECT_EQ(merged.config().experts, ExpertStorage::expanded);
    const double error = relative_error(logits(merged), wanted);
    print_worst("merged MXFP4 base in fp32, logits", error, 1e-5);
    EXPECT_LE(error, 1e-5);
    EXPECT_GT(relative_error(wanted, logits(LanguageModel::load(base()))), 1e-2);
  }
}

TEST_F(MergePackedFolders, KeepTheExpertsOfLayersThatTheAdapterLeavesAlone) {
  write_packed_base("float32");
  LanguageModel adapted = write_mild_adapter(false, {"attention", "experts"});
  std::erase_if(adapted.weights().adapter.tensors, [](const auto& entry) {
    return entry.first.starts_with("model.layers.0.mlp.experts.") ||
           entry.first.starts_with("model.layers.1.mlp.experts.down_proj");
  });
  adapted.save(adapter(), {});
  const Merge done = merge_adapter(base(), adapter(), out(), {});
  EXPECT_EQ(done.changed, 2 * 4 + 1);
  expect_packed(0);
  const LanguageModel merged = LanguageModel::load(out());
  EXPECT_EQ(merged.config().expanded_layers, (std::vector<bool>{false, true}));
  EXPECT_LE(relative_error(logits(merged), logits(adapted)), 1e-5);
  for (const ExpertStorage experts : {ExpertStorage::mxfp4, ExpertStorage::expanded})
    EXPECT_TRUE(logits(LanguageModel::load(out(), {.experts = experts})).equal(logits(merged)));
}

TEST_F(MergePackedFolders, KeepAllExpertsWhenOnlyAttentionIsAdapted) {
  write_packed_base("float32");
  const LanguageModel adapted = write_mild_adapter(true, {"attention"});
  const Merge done = merge_adapter(base(), adapter(), out(), {});
  EXPECT_EQ(done.changed, 2 * 4);
  expect_packed(0);
  expect_packed(1);
  const LanguageModel merged = LanguageModel::load(out());
  EXPECT_EQ(merged.config().expanded_layers, std::vector<bool>{});
  EXPECT_LE(relative_error(logits(merged), logits(adapted)), 1e-5);
}

// bf16 rounds every merged number once, to the nearest; what that does to the logits is bounded loosely beside.
TEST_F(MergePackedFolders, RoundOnceInBfloat16) {
  write_packed_base("bfloat16");
  const LanguageModel adapted = write_mild_adapter(false);
  merge_adapter(base(), adapter(), out(), {});
  const LanguageModel merged = LanguageModel::load(out());
  const LanguageModel expanded = LanguageModel::load(base(), {.experts = ExpertStorage::expanded});
  for (const char* part : {"gate_up_proj", "down_proj"}) {
    const std::string name = layer_name(1, std::string("mlp.experts.") + part);
    const LowRank pair = low_rank(adapted.weights().adapter, name);
    const at::Tensor delta =
        pair.a.to(at::kDouble).transpose(1, 2).matmul(pair.b.to(at::kDouble).transpose(1, 2)).mul(pair.scale);
    const at::Tensor exact = expanded.weights().tensors.at(name).to(at::kDouble).add(delta);
    const at::Tensor error = merged.weights().tensors.at(name).to(at::kDouble).sub(exact).abs();
    // Half a unit in the last of 8 places, and fp32's own error of the sum.
    EXPECT_TRUE(error.le(exact.abs().mul(1.0 / 256).add(1e-6)).all().item<bool>()) << name;
  }
  const auto in_fp32 = [](const LanguageModel& model) {
    GptOssWeights weights = model.weights();
    for (auto& [name, tensor] : weights.tensors)
      if (tensor.is_floating_point()) tensor = tensor.to(at::kFloat);
    GptOssConfig config = model.config();
    config.dtype = "float32";
    return all_logits(config, weights, full_batch(random_ids(2, 30, config.vocab_size, 17)));
  };
  const double error = relative_error(in_fp32(merged), in_fp32(adapted));
  print_worst("merged MXFP4 base in bf16, logits in fp32 arithmetic", error, 5e-2);
  EXPECT_LE(error, 5e-2);
}

TEST_F(MergeFolders, AreNotWrittenOverWhatIsReadOrIsNoModel) {
  write_base(small_config());
  (void)write_adapter(true);
  EXPECT_ERROR(merge_adapter(base(), adapter(), base(), {}), ErrorKind::usage, testing::HasSubstr("is read"));
  fs::create_directories(out());
  write_file_atomically(out() / "letter.txt", "dear");
  EXPECT_ERROR(merge_adapter(base(), adapter(), out(), {}), ErrorKind::usage, testing::HasSubstr("no model folder"));
  write_file_atomically(out() / "config.json", R"({"model_type": "gpt_oss"})");
  EXPECT_ERROR(merge_adapter(base(), adapter(), out(), {}), ErrorKind::usage, testing::HasSubstr("letter.txt"));
  EXPECT_TRUE(fs::exists(out() / "letter.txt"));
}

TEST_F(MergeFolders, AreNotLeftHalfWrittenWhenStopped) {
  write_base(small_config());
  (void)write_adapter(true);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_ERROR(merge_adapter(base(), adapter(), out(), stop.get_token()), ErrorKind::interrupted,
               testing::HasSubstr("nothing was written"));
  EXPECT_FALSE(fs::exists(out()));
}

}  // namespace
}  // namespace kc
