// Published layouts as tensors; manifests that are none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ATen/core/Tensor.h>
#include <ATen/ops/tensor.h>
#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json.h"
#include "model/model_files_torch.h"
#include "model/safetensors_torch.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"
#include "tests/weights/folders.h"

namespace kc {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(CheckpointLoading, ExpertsStayPackedOrAreExpandedAsAsked) {
  const test::TempFolder folder;
  const GptOssConfig packed = test::tiny_config(ExpertStorage::mxfp4);
  test::write_folder(folder.path(), packed, test::random_tensors(packed, 9), 30'000);
  const CheckpointFiles files(folder.path());
  GptOssWeights kept = load_weights(files, files.config(), "");
  const at::Tensor& blocks = kept.tensors.at("model.layers.1.mlp.experts.gate_up_proj_blocks");
  EXPECT_EQ(blocks.scalar_type(), at::kByte);
  EXPECT_EQ(blocks.sizes(), (at::IntArrayRef{3, 64, 2, 16}));
  EXPECT_FALSE(kept.tensors.contains("model.layers.1.mlp.experts.gate_up_proj"));
  kept.require_grad(true);
  EXPECT_FALSE(blocks.requires_grad());
  EXPECT_TRUE(kept.tensors.at("lm_head.weight").requires_grad());
  GptOssConfig expanded = files.config();
  expanded.experts = ExpertStorage::expanded;
  const GptOssWeights wide = load_weights(files, expanded, "");
  const at::Tensor& gate_up = wide.tensors.at("model.layers.1.mlp.experts.gate_up_proj");
  EXPECT_EQ(gate_up.scalar_type(), at::kBFloat16);
  EXPECT_EQ(gate_up.sizes(), (at::IntArrayRef{3, 64, 64}));
  // Expert 2, input 33, output 5: block 1 of row 5, byte 0, high nibble.
  const auto byte = blocks[2][5][1][0].item<std::int64_t>();
  const auto scale = kept.tensors.at("model.layers.1.mlp.experts.gate_up_proj_scales")[2][5][1].item<std::int64_t>();
  const double table[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6};
  EXPECT_EQ(gate_up[2][33][5].item<double>(), std::ldexp(table[byte >> 4], static_cast<int>(scale) - 127));
}

TEST(CheckpointLoading, PackedWeightsAreSavedAsTheyAre) {
  const test::TempFolder folder;
  const GptOssConfig packed = test::tiny_config(ExpertStorage::mxfp4);
  test::write_folder(folder / "old", packed, test::random_tensors(packed, 9));
  const GptOssWeights weights = load_weights(folder / "old", packed, "");
  std::filesystem::create_directories(folder / "new");
  save_gpt_oss_config(packed, folder / "new/config.json");
  const std::string hash = save_weights(folder / "new", weights);
  const GptOssWeights again = load_weights(folder / "new", packed, hash);
  for (const auto& [name, tensor] : weights.tensors) EXPECT_TRUE(tensor.equal(again.tensors.at(name))) << name;
  EXPECT_ERROR(load_weights(folder / "new", packed, std::string(64, '0')), ErrorKind::bad_data,
               AllOf(HasSubstr("model.safetensors"), HasSubstr("SHA-256"), HasSubstr(hash)));
}

TEST(Manifest, NonsenseNamesFileAndKeyInOurWords) {
  const test::TempFolder folder;
  const auto refused = [&](const std::string& text, const char* key) {
    write_file_atomically(folder / "manifest.json", text);
    EXPECT_ERROR(load_manifest(folder.path()), ErrorKind::bad_data,
                 AllOf(HasSubstr("manifest.json"), HasSubstr(key), Not(HasSubstr("json.exception"))));
  };
  refused("[]", "format_version");
  refused("{}", "format_version");
  refused(R"({"format_version": "1"})", "format_version");
  refused(R"({"format_version": 1, "step": "many"})", "step");
  refused(R"({"format_version": 1, "weights_hash": 12})", "weights_hash");
  refused("{", "JSON");
}

}  // namespace
}  // namespace kc
