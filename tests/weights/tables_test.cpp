// Names, shapes and totals of the published models, from the specification's figures.
#include "weights/tensor_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "tests/support/temp_folder.h"
#include "tests/weights/folders.h"
#include "tests/weights/published.h"
#include "weights/inspection.h"

namespace kc {
namespace {

std::int64_t bytes_of(const std::vector<TensorHeader>& table) {
  std::int64_t sum = 0;
  for (const TensorHeader& spec : table) sum += spec.bytes();
  return sum;
}

const TensorHeader& named(const std::vector<TensorHeader>& table, const std::string& name) {
  return *std::ranges::find(table, name, &TensorHeader::name);
}

struct Published {
  const char* name;
  std::int64_t layers, experts, tensors, bytes, parameters, active, shards;
};

class PublishedModel : public testing::TestWithParam<Published> {};

TEST_P(PublishedModel, HasTheTensorsAndBytesOfTheRelease) {
  const Published& p = GetParam();
  const GptOssConfig c = test::published_config(p.layers, p.experts);
  const std::vector<TensorHeader> table = tensor_table(c);
  EXPECT_EQ(static_cast<std::int64_t>(table.size()), p.tensors);
  EXPECT_EQ(bytes_of(table), p.bytes);
  EXPECT_EQ(bytes_of(original_tensor_table(c)), p.bytes);
  EXPECT_EQ(c.parameter_count(), p.parameters);
  EXPECT_EQ(named(table, "model.layers.3.mlp.experts.gate_up_proj_blocks").shape,
            (std::vector<std::int64_t>{p.experts, 5760, 90, 16}));
  EXPECT_EQ(named(table, "model.layers.3.mlp.experts.down_proj_scales").shape,
            (std::vector<std::int64_t>{p.experts, 2880, 90}));
  EXPECT_EQ(named(table, "model.layers.0.self_attn.sinks").shape, (std::vector<std::int64_t>{64}));
}

// Sparse files of the full length: only headers are read.
TEST_P(PublishedModel, IsCountedFromItsHeadersAlone) {
  const Published& p = GetParam();
  const test::TempFolder folder;
  test::write_sparse_folder(folder.path(), test::published_config(p.layers, p.experts), p.shards);
  std::int64_t length = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    if (entry.path().extension() == ".safetensors") length += static_cast<std::int64_t>(entry.file_size());
  EXPECT_GE(length, p.bytes);
  const CheckpointFiles files(folder.path());
  const Inspection inspection = inspect(files);
  EXPECT_EQ(inspection.parameters, p.parameters);
  EXPECT_EQ(inspection.bytes, p.bytes);
  EXPECT_EQ(inspection.files, p.shards);
  EXPECT_EQ(inspection.config.active_parameters(), p.active);
  EXPECT_EQ(inspection.config.experts, ExpertStorage::mxfp4);
  EXPECT_EQ(inspection.config.dtype, "bfloat16");
  EXPECT_EQ(static_cast<std::int64_t>(to_json(inspection, files)["tensors"].size()), p.tensors);
}

INSTANTIATE_TEST_SUITE_P(
    GptOss, PublishedModel,
    testing::Values(Published{"gpt_oss_20b", 24, 32, 459, 13'761'264'768, 20'914'757'184, 3'608'307'264, 3},
                    Published{"gpt_oss_120b", 36, 128, 687, 65'248'815'744, 116'829'156'672, 5'132'849'472, 15}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(TensorTables, ExpandedExpertsAreTransposed) {
  const std::vector<TensorHeader> table = tensor_table(test::tiny_config(ExpertStorage::expanded));
  EXPECT_EQ(named(table, "model.layers.1.mlp.experts.gate_up_proj").shape, (std::vector<std::int64_t>{3, 64, 64}));
  EXPECT_EQ(named(table, "model.layers.1.mlp.experts.down_proj").shape, (std::vector<std::int64_t>{3, 32, 64}));
  EXPECT_EQ(named(table, "model.layers.1.mlp.experts.down_proj").dtype, Dtype::bf16);
}

TEST(TensorTables, FusedRowsOfTheOriginalLayout) {
  const GptOssConfig c = test::published_config(24, 32);
  const auto place = [&](const char* name) { return original_place(c, std::string("model.layers.17.") + name); };
  EXPECT_EQ(place("self_attn.q_proj.weight").name, "block.17.attn.qkv.weight");
  EXPECT_EQ(place("self_attn.q_proj.weight").first_row, 0);
  EXPECT_EQ(place("self_attn.k_proj.bias").name, "block.17.attn.qkv.bias");
  EXPECT_EQ(place("self_attn.k_proj.bias").first_row, 4096);
  EXPECT_EQ(place("self_attn.v_proj.weight").first_row, 4608);
  EXPECT_EQ(place("mlp.experts.down_proj_blocks").name, "block.17.mlp.mlp2_weight.blocks");
  EXPECT_EQ(place("mlp.experts.unknown").name, "");
  EXPECT_EQ(original_place(c, "lm_head.weight").name, "unembedding.weight");
}

}  // namespace
}  // namespace kc
