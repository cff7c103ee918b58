// Folding an adapter into a folder: the same logits as base and adapter side by side.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/atomic_file.h"
#include "model/language_model.h"
#include "model/lora_files_torch.h"
#include "model/merge.h"
#include "tests/model/torch_support.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

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
  LanguageModel write_adapter(bool shared, std::vector<std::string> targets = {"attention", "experts", "unembedding"}) {
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
        tensor.mutable_data_ptr<float>()[i] = static_cast<float>(rng.normal() * 0.3);
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

TEST_F(MergeFolders, AreNotWrittenOverWhatIsReadOrIsNoModel) {
  write_base(small_config());
  (void)write_adapter(true);
  EXPECT_ERROR(merge_adapter(base(), adapter(), base(), {}), ErrorKind::usage, testing::HasSubstr("is read"));
  fs::create_directories(out());
  write_file_atomically(out() / "letter.txt", "dear");
  EXPECT_ERROR(merge_adapter(base(), adapter(), out(), {}), ErrorKind::usage, testing::HasSubstr("no model folder"));
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
