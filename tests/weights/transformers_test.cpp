// Beside Hugging Face transformers: its MXFP4 decoder, folders that it opens, folders that it writes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/support/python.h"
#include "tests/support/temp_folder.h"
#include "tests/weights/folders.h"
#include "weights/bfloat16.h"
#include "weights/conversion.h"
#include "weights/mxfp4.h"
#include "weights/tensor_loading.h"
#include "weights/tensor_tables.h"

namespace kc {
namespace {

using test::TensorBytes;

bool has_transformers() {
  static const bool found = test::python_can("import torch, safetensors; from transformers import Mxfp4Config");
  return found;
}

bool parity(const std::string& arguments) {
  return test::runs_silently(test::python() + " " KC_SOURCE_DIR "/tests/golden/checkpoint_parity.py " + arguments);
}

std::vector<std::byte> tensor(const std::filesystem::path& path, const std::string& name) {
  const SafetensorsFile file(path);
  const auto entry = std::ranges::find(file.tensors(), name, [](const TensorEntry& e) { return e.spec.name; });
  if (entry == file.tensors().end()) return {};
  const auto data = file.data(*entry);
  return {data.begin(), data.end()};
}

template <class T>
std::vector<T> values(const std::vector<std::byte>& bytes) {
  std::vector<T> result(bytes.size() / sizeof(T));
  std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

class TransformersParity : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_transformers()) GTEST_SKIP() << "transformers is not importable by " << test::python();
  }
  // Every tensor of `config` in our reading of `folder` equals the one in `file`, bit for bit.
  void expect_same(const std::filesystem::path& folder, const GptOssConfig& config, const std::filesystem::path& file) {
    const CheckpointFiles files(folder);
    for (const TensorHeader& spec : tensor_table(config)) {
      std::vector<std::byte> ours(static_cast<std::size_t>(spec.bytes()));
      read_rows(files.source(spec), spec, 0, spec.shape[0], ours.data());
      EXPECT_EQ(ours, tensor(file, spec.name)) << spec.name;
    }
  }
  const GptOssConfig packed_ = test::tiny_config(ExpertStorage::mxfp4);
  const GptOssConfig expanded_ = test::tiny_config(ExpertStorage::expanded);
  const test::TempFolder folder_;
};

// All 256 bytes with all scales: one row for each scale.
TEST_F(TransformersParity, Mxfp4DecodesBitForBit) {
  TensorBytes tensors;
  for (int scale = 0; scale < 256; ++scale) {
    tensors["scales"].insert(tensors["scales"].end(), 16, static_cast<std::byte>(scale));
    for (int byte = 0; byte < 256; ++byte) tensors["blocks"].push_back(static_cast<std::byte>(byte));
  }
  test::write_file(folder_ / "packed.safetensors",
                   {{"blocks", Dtype::u8, {1, 256, 16, 16}}, {"scales", Dtype::u8, {1, 256, 16}}}, tensors);
  ASSERT_TRUE(parity("decode " + (folder_ / "packed.safetensors").string() + " " + (folder_ / "out").string()));
  const auto half = values<std::uint16_t>(tensor(folder_ / "out", "bfloat16"));
  const auto single = values<float>(tensor(folder_ / "out", "float32"));
  ASSERT_EQ(half.size(), 512U * 256U);
  const Mxfp4Matrix matrix{reinterpret_cast<const std::uint8_t*>(tensors["blocks"].data()),
                           reinterpret_cast<const std::uint8_t*>(tensors["scales"].data()), 256, 512};
  std::vector<std::uint16_t> our_half(half.size());
  std::vector<float> our_single(half.size());
  decode_mxfp4_transposed(matrix, 0, 256, our_half.data(), 256);
  decode_mxfp4_transposed(matrix, 0, 256, our_single.data(), 256);
  std::size_t finite = 0, both_not = 0;
  for (std::size_t i = 0; i < half.size(); ++i) {
    if (!bfloat16_is_finite(half[i])) {
      both_not += bfloat16_is_finite(our_half[i]) ? 0 : 1;
      continue;
    }
    ++finite;
    ASSERT_EQ(our_half[i], half[i]) << "scale " << i % 256 << ", value " << i / 256;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(our_single[i]), std::bit_cast<std::uint32_t>(single[i])) << i;
  }
  EXPECT_EQ(finite + both_not, half.size());
  EXPECT_GE(finite, 512U * 252U);
}

TEST_F(TransformersParity, ReadsAPackedFolderAsWeDo) {
  test::write_folder(folder_ / "packed", packed_, test::random_tensors(packed_, 4));
  ASSERT_TRUE(parity("tensors " + (folder_ / "packed").string() + " " + (folder_ / "out").string()));
  expect_same(folder_ / "packed", expanded_, folder_ / "out");
}

TEST_F(TransformersParity, OpensAFolderWithExpandedExpertsInOneLayer) {
  GptOssConfig mixed = packed_;
  mixed.expanded_layers = {false, true};
  test::write_folder(folder_ / "mixed", mixed, test::random_tensors(mixed, 4));
  ASSERT_TRUE(parity("tensors " + (folder_ / "mixed").string() + " " + (folder_ / "out").string()));
  expect_same(folder_ / "mixed", expanded_, folder_ / "out");
}

TEST_F(TransformersParity, OpensWhatConvertWrites) {
  test::write_original(folder_ / "original", packed_, test::random_tensors(packed_, 4));
  convert_checkpoint(folder_ / "original", folder_ / "packed", {});
  convert_checkpoint(folder_ / "original", folder_ / "half",
                     {.experts = ExpertStorage::expanded, .shard_bytes = 50'000});
  convert_checkpoint(folder_ / "half", folder_ / "single", {.dtype = "float32"});
  for (const char* name : {"packed", "half", "single"})
    ASSERT_TRUE(parity("tensors " + (folder_ / name).string() + " " + (folder_ / name / "out").string())) << name;
  expect_same(folder_ / "original", expanded_, folder_ / "half/out");
  expect_same(folder_ / "original", test::tiny_config(ExpertStorage::expanded, "float32"), folder_ / "single/out");
  // One model, three folders: the same logits to the last bit.
  const auto logits = tensor(folder_ / "half/out", "logits");
  EXPECT_EQ(logits.size(), 24U * 80U * 4U);
  EXPECT_EQ(logits, tensor(folder_ / "single/out", "logits"));
  EXPECT_EQ(logits, tensor(folder_ / "packed/out", "logits"));
}

TEST_F(TransformersParity, ItsShardsAreRead) {
  ASSERT_TRUE(parity("write " + (folder_ / "written").string()));
  ASSERT_TRUE(parity("tensors " + (folder_ / "written").string() + " " + (folder_ / "out").string()));
  EXPECT_GT(CheckpointFiles(folder_ / "written").files().size(), 1U);
  EXPECT_EQ(CheckpointFiles(folder_ / "written").config().dtype, "bfloat16");
  expect_same(folder_ / "written", expanded_, folder_ / "out");
}

}  // namespace
}  // namespace kc
