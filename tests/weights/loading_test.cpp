// Values, bit for bit: loading and converting every layout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/hash.h"
#include "base/json.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"
#include "tests/weights/folders.h"
#include "weights/bfloat16.h"
#include "weights/conversion.h"
#include "weights/mxfp4.h"
#include "weights/tensor_loading.h"
#include "weights/tensor_tables.h"
#include "weights/verification.h"

namespace kc {
namespace {

using test::TensorBytes;
using test::tiny_config;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TensorBytes load(const std::filesystem::path& folder, const GptOssConfig& config, int threads = 2) {
  const CheckpointFiles files(folder);
  TensorBytes tensors;
  std::vector<LoadTarget> targets;
  for (const TensorHeader& spec : tensor_table(config)) {
    auto& bytes = tensors[spec.name];
    bytes.resize(static_cast<std::size_t>(spec.bytes()));
    targets.push_back({spec, bytes.data()});
  }
  load_tensors(files, targets, threads);
  return tensors;
}

float value_at(const std::vector<std::byte>& bytes, Dtype dtype, std::size_t i) {
  if (dtype == Dtype::bf16) {
    std::uint16_t half = 0;
    std::memcpy(&half, bytes.data() + 2 * i, 2);
    return float_of_bfloat16(half);
  }
  float value = 0;
  std::memcpy(&value, bytes.data() + 4 * i, 4);
  return value;
}

// By the formula of the specification, without the decoder: [E, in, out] from blocks [E, out, in/32, 16].
void expect_decoded(const TensorBytes& packed, const TensorBytes& expanded, Dtype dtype, const std::string& name,
                    std::size_t experts, std::size_t out, std::size_t in) {
  constexpr float kTable[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
  const auto& blocks = packed.at(name + "_blocks");
  const auto& scales = packed.at(name + "_scales");
  for (std::size_t e = 0; e < experts; ++e)
    for (std::size_t o = 0; o < out; ++o)
      for (std::size_t i = 0; i < in; ++i) {
        const std::size_t block = (e * out + o) * (in / 32) + i / 32;
        const auto byte = static_cast<unsigned>(blocks[block * 16 + i % 32 / 2]);
        const unsigned nibble = i % 2 == 0 ? byte & 15U : byte >> 4U;
        const float magnitude = std::ldexp(kTable[nibble & 7U], static_cast<int>(scales[block]) - 127);
        ASSERT_EQ(value_at(expanded.at(name), dtype, (e * in + i) * out + o), nibble & 8U ? -magnitude : magnitude)
            << name << " " << e << " " << i << " " << o;
      }
}

void expect_all_decoded(const TensorBytes& packed, const TensorBytes& expanded, Dtype dtype) {
  for (int layer = 0; layer < 2; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".mlp.experts.";
    expect_decoded(packed, expanded, dtype, prefix + "gate_up_proj", 3, 64, 64);
    expect_decoded(packed, expanded, dtype, prefix + "down_proj", 3, 64, 32);
  }
}

class Loading : public testing::Test {
 protected:
  Loading() { test::write_folder(path(), packed_, tensors_, 30'000); }
  std::filesystem::path path() const { return folder_ / "source"; }
  std::filesystem::path out() const { return folder_ / "result"; }
  const GptOssConfig packed_ = tiny_config(ExpertStorage::mxfp4);
  const GptOssConfig expanded_ = tiny_config(ExpertStorage::expanded);
  const GptOssConfig single_ = tiny_config(ExpertStorage::expanded, "float32");
  const TensorBytes tensors_ = test::random_tensors(packed_, 7);
  const test::TempFolder folder_;
};

TEST_F(Loading, PackedExpertsAreKeptByteForByte) {
  for (const int threads : {1, 3}) EXPECT_EQ(load(path(), packed_, threads), tensors_);
}

TEST_F(Loading, ExpandedExpertsFollowTheSpecification) {
  const TensorBytes half = load(path(), expanded_);
  expect_all_decoded(tensors_, half, Dtype::bf16);
  EXPECT_EQ(half.at("lm_head.weight"), tensors_.at("lm_head.weight"));
  const TensorBytes single = load(path(), single_);
  expect_all_decoded(tensors_, single, Dtype::f32);
  for (std::size_t i = 0; i < 80 * 64; ++i)
    ASSERT_EQ(value_at(single.at("lm_head.weight"), Dtype::f32, i),
              value_at(tensors_.at("lm_head.weight"), Dtype::bf16, i));
}

TEST_F(Loading, TheOriginalLayoutGivesTheSameModel) {
  test::write_original(folder_ / "original", packed_, tensors_);
  EXPECT_EQ(load(folder_ / "original", packed_), tensors_);
  EXPECT_EQ(load(folder_ / "original", expanded_), load(path(), expanded_));
}

TEST_F(Loading, ExpandedExpertsCannotBePacked) {
  test::write_folder(out(), expanded_, load(path(), expanded_));
  EXPECT_ERROR(load(out(), packed_), ErrorKind::bad_data, AllOf(HasSubstr("_blocks"), HasSubstr("MXFP4")));
}

TEST_F(Loading, ExpandedExpertsOfAnySizeThatCannotBePackedAreNamedWithTheirFolder) {
  GptOssConfig odd = expanded_;
  odd.hidden_size = 24;
  odd.intermediate_size = 40;
  test::write_folder(folder_ / "odd", odd, test::random_tensors(odd, 5));
  EXPECT_ERROR(convert_checkpoint(folder_ / "odd", out(), {.experts = ExpertStorage::mxfp4}), ErrorKind::bad_data,
               AllOf(HasSubstr((folder_ / "odd").string()), HasSubstr("gate_up_proj_blocks"), HasSubstr("MXFP4")));
}

TEST_F(Loading, ConvertingExpandsInShards) {
  write_file_atomically(path() / "tokenizer.json", "{}");
  const Conversion done =
      convert_checkpoint(path(), out(), {.experts = ExpertStorage::expanded, .shard_bytes = 40'000});
  EXPECT_GT(done.files.size(), 2U);
  EXPECT_EQ(load(out(), expanded_), load(path(), expanded_));
  EXPECT_EQ(read_file(out() / "tokenizer.json"), "{}");
  const Verification verified = verify_checkpoint(out());
  EXPECT_THAT(verified.problems, IsEmpty());
  EXPECT_EQ(verified.hashes, static_cast<std::int64_t>(done.files.size()));
  EXPECT_FALSE(read_json_file(out() / "config.json").contains("quantization_config"));
}

TEST_F(Loading, ConvertingToFloat32IsOneExactFile) {
  const Conversion done = convert_checkpoint(path(), out(), {.dtype = "float32", .experts = ExpertStorage::expanded});
  EXPECT_THAT(done.files, ElementsAre("model.safetensors"));
  EXPECT_EQ(load(out(), single_), load(path(), single_));
  convert_checkpoint(out(), folder_ / "again", {.dtype = "bfloat16"});
  EXPECT_EQ(load(folder_ / "again", expanded_), load(path(), expanded_));
}

TEST_F(Loading, ConvertingTheOriginalLayoutKeepsItsExperts) {
  test::write_original(folder_ / "original", packed_, tensors_);
  convert_checkpoint(folder_ / "original", out(), {});
  EXPECT_EQ(load(out(), packed_), tensors_);
  EXPECT_EQ(load_checkpoint_config(out()).experts, ExpertStorage::mxfp4);
  EXPECT_EQ(CheckpointFiles(out()).layout(), CheckpointLayout::hugging_face);
  EXPECT_FALSE(std::filesystem::exists(out() / "dtypes.json"));
}

TEST_F(Loading, ConvertingKeepsWhatTheOldManifestSays) {
  write_json_file(path() / "manifest.json", {{"format_version", 1}, {"stage", "policy"}, {"weights_hash", ""}});
  convert_checkpoint(path(), out(), {});
  const auto manifest = read_json_file(out() / "manifest.json");
  EXPECT_EQ(manifest["stage"], "policy");
  EXPECT_EQ(manifest["weights_hash"], sha256_hex(read_file(out() / "model.safetensors")));
  EXPECT_EQ(manifest["architecture_hash"], sha256_hex(read_file(out() / "config.json")));
}

TEST_F(Loading, ConvertingNeverHarmsWhatIsThere) {
  EXPECT_ERROR(convert_checkpoint(path(), path(), {}), ErrorKind::usage, HasSubstr("--out"));
  EXPECT_ERROR(convert_checkpoint(path(), path() / "inside", {}), ErrorKind::usage, HasSubstr("--out"));
  folder_.write("precious/letters.txt", "dear");
  EXPECT_ERROR(convert_checkpoint(path(), folder_ / "precious", {}), ErrorKind::usage, HasSubstr("precious"));
  EXPECT_EQ(read_file(folder_ / "precious/letters.txt"), "dear");
  EXPECT_ERROR(convert_checkpoint(path(), out(), {.dtype = "float16"}), ErrorKind::usage, HasSubstr("float16"));
  std::stop_source stop;
  stop.request_stop();
  const std::size_t before = folder_.count();
  EXPECT_ERROR(convert_checkpoint(path(), out(), {}, stop.get_token()), ErrorKind::interrupted, HasSubstr("nothing"));
  EXPECT_EQ(folder_.count(), before);
}

TEST_F(Loading, ConvertingReplacesAModelFolderOnlyWhereNoFileWouldBeLost) {
  folder_.write("source/tokenizer.json", "{}");
  convert_checkpoint(path(), out(), {.experts = ExpertStorage::expanded, .shard_bytes = 40'000});
  convert_checkpoint(path(), out(), {});  // shards and index go, one file comes
  EXPECT_EQ(load(out(), packed_), tensors_);
  EXPECT_FALSE(std::filesystem::exists(out() / "model.safetensors.index.json"));
  for (const char* stranger : {"notes.txt", "logits.safetensors", "model-of-mine.safetensors", "original/a.txt"}) {
    folder_.write(std::filesystem::path("result") / stranger, "mine");
    const std::string name = *std::filesystem::path(stranger).begin();
    EXPECT_ERROR(convert_checkpoint(path(), out(), {}), ErrorKind::usage, AllOf(HasSubstr("--out"), HasSubstr(name)));
    EXPECT_EQ(read_file(out() / stranger), "mine");
    std::filesystem::remove_all(out() / name);
  }
  std::filesystem::remove(path() / "tokenizer.json");
  EXPECT_ERROR(convert_checkpoint(path(), out(), {}), ErrorKind::usage, HasSubstr("tokenizer.json"));
  EXPECT_EQ(read_file(out() / "tokenizer.json"), "{}");
}

TEST_F(Loading, ConvertingNeedsTheFolderAroundTheResult) {
  EXPECT_ERROR(convert_checkpoint(path(), folder_ / "absent/result/", {}), ErrorKind::usage,
               AllOf(HasSubstr((folder_ / "absent").string() + " is not there"), HasSubstr("--out")));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "absent"));
}

TEST_F(Loading, AMissingIndexIsNamedAsSuch) {
  std::filesystem::remove(path() / "model.safetensors.index.json");
  EXPECT_ERROR(
      CheckpointFiles{path()}, ErrorKind::bad_data,
      AllOf(HasSubstr("model.safetensors.index.json"), HasSubstr("model-00001-of-"), HasSubstr("weight file(s)")));
}

class Verifying : public Loading {
 protected:
  Verifying() { convert_checkpoint(path(), out(), {}); }
  std::filesystem::path weights() const { return out() / "model.safetensors"; }
  // After the patch: the recorded hash does not hold either.
  void expect_problem(const std::string& tensor, const char* count) const {
    const Verification found = verify_checkpoint(out());
    EXPECT_THAT(found.problems, testing::Contains(AllOf(HasSubstr("model.safetensors"), HasSubstr(tensor),
                                                        HasSubstr(count), HasSubstr("finite"))));
    EXPECT_THAT(found.problems, testing::Contains(AllOf(HasSubstr("model.safetensors"), HasSubstr("SHA-256"))));
    EXPECT_EQ(found.problems.size(), 2U);
  }
};

TEST_F(Verifying, ASoundFolderHasNoProblems) {
  const Verification found = verify_checkpoint(out());
  EXPECT_THAT(found.problems, IsEmpty());
  EXPECT_EQ(found.tensors, static_cast<std::int64_t>(tensors_.size()));
  EXPECT_EQ(found.hashes, 1);
}

TEST_F(Verifying, FindsNanAndInfinity) {
  test::patch(weights(), "model.layers.1.self_attn.o_proj.weight", 2 * 77, {0xC0, 0x7F, 0x80, 0xFF});  // NaN, -inf
  expect_problem("model.layers.1.self_attn.o_proj.weight", "2 value(s)");
}

TEST_F(Verifying, FindsScalesThatOverflow) {
  test::patch(weights(), "model.layers.0.mlp.experts.down_proj_scales", 64 + 5, {255});
  expect_problem("model.layers.0.mlp.experts.down_proj_blocks", "32 value(s)");
}

TEST_F(Verifying, FindsOneChangedBit) {
  test::patch(weights(), "model.norm.weight", 0, {0x00});
  EXPECT_THAT(verify_checkpoint(out()).problems,
              ElementsAre(AllOf(HasSubstr("model.safetensors"), HasSubstr("SHA-256"))));
}

TEST_F(Verifying, ListsEveryProblemOfDamagedFiles) {
  const std::filesystem::path first = CheckpointFiles(path()).files()[0]->path();
  const std::filesystem::path second = CheckpointFiles(path()).files()[1]->path();
  std::filesystem::resize_file(first, std::filesystem::file_size(first) - 3);
  std::filesystem::remove(second);
  const Verification found = verify_checkpoint(path());
  EXPECT_THAT(found.problems, testing::Contains(AllOf(HasSubstr(first.filename().string()), HasSubstr("truncated"))));
  EXPECT_THAT(found.problems, testing::Contains(AllOf(HasSubstr(second.filename().string()), HasSubstr("absent"))));
  EXPECT_THAT(found.problems, testing::Contains(HasSubstr("missing")));
}

TEST_F(Verifying, ComparesTheSizeThatTheIndexStates) {
  const std::filesystem::path index = path() / "model.safetensors.index.json";
  nlohmann::json root = read_json_file(index);
  const std::int64_t bytes = root["metadata"]["total_size"];
  EXPECT_THAT(verify_checkpoint(path()).problems, IsEmpty());
  root["metadata"]["total_size"] = bytes + 2;
  write_json_file(index, root);
  EXPECT_THAT(verify_checkpoint(path()).problems,
              ElementsAre(AllOf(HasSubstr("index.json"), HasSubstr("total_size"), HasSubstr(std::to_string(bytes + 2)),
                                HasSubstr(std::to_string(bytes) + " bytes"))));
  EXPECT_NO_THROW(CheckpointFiles{path()}) << "no tensor depends on it";
  root["metadata"]["total_size"] = "many";
  write_json_file(index, root);
  EXPECT_THAT(verify_checkpoint(path()).problems, ElementsAre(AllOf(HasSubstr("total_size"), HasSubstr("many"))));
  for (const nlohmann::json& no_object : {nlohmann::json("total_size"), nlohmann::json(nullptr), nlohmann::json(3)}) {
    root["metadata"] = no_object;
    write_json_file(index, root);
    EXPECT_THAT(verify_checkpoint(path()).problems,
                ElementsAre(AllOf(HasSubstr("index.json: metadata is " + no_object.dump()), HasSubstr("object"))));
  }
  root.erase("metadata");
  write_json_file(index, root);
  EXPECT_THAT(verify_checkpoint(path()).problems, IsEmpty());
}

TEST_F(Verifying, AManifestOfNonsenseIsAProblemOfItsOwn) {
  write_file_atomically(out() / "manifest.json", "{\"weights_hash\": 3}");
  EXPECT_THAT(verify_checkpoint(out()).problems, ElementsAre(AllOf(HasSubstr("manifest.json"), HasSubstr("texts"))));
  write_json_file(out() / "manifest.json", {{"file_hashes", {{"model-00009.safetensors", "00"}}}});
  EXPECT_THAT(verify_checkpoint(out()).problems, ElementsAre(HasSubstr("model-00009.safetensors")));
}

}  // namespace
}  // namespace kc
