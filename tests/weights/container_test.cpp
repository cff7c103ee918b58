// Headers that lie, and what is wrong with a folder as a whole.
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "base/json.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"
#include "tests/weights/folders.h"
#include "weights/checkpoint_files.h"
#include "weights/tensor_tables.h"
#include "weights/verification.h"

namespace kc {
namespace {

using nlohmann::json;
using test::tiny_config;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

constexpr const char* kFile = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

class Header : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_ / "t.safetensors"; }
  void write(const std::string& header, std::size_t data) const {
    const std::uint64_t length = header.size();
    write_file_atomically(file(),
                          std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(data, 'x'));
  }
  void expect_refused(const testing::Matcher<std::string>& message) const {
    EXPECT_ERROR(SafetensorsFile{file()}, ErrorKind::bad_data, AllOf(HasSubstr("t.safetensors"), message));
  }

 private:
  test::TempFolder folder_;
};

TEST_F(Header, ANameGivenTwiceIsRefused) {
  write(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
        1);
  expect_refused(AllOf(HasSubstr("\"a\""), HasSubstr("twice")));
}

TEST_F(Header, ForeignNamesAreShownWithoutTheirControlCharacters) {
  write(R"({"a\u001b[31m\nb":{"dtype":"U9","shape":[1],"data_offsets":[0,1]}})", 1);
  expect_refused(HasSubstr("\"a\\x1b[31m\\nb\""));
  write(R"({"a":{"dtype":"\u001b[2J","shape":[1],"data_offsets":[0,1]}})", 1);
  expect_refused(HasSubstr("\\x1b[2J"));
  write(R"({"\u0007":1,"\u0007":1})", 0);
  expect_refused(AllOf(HasSubstr("\\x07"), HasSubstr("twice")));
}

TEST_F(Header, LongerThanTheLimitIsRefusedThoughTheFileIsLonger) {
  const std::uint64_t length = 100'000'001;
  write_file_atomically(file(), std::string(reinterpret_cast<const char*>(&length), 8));
  std::filesystem::resize_file(file(), 150'000'000);
  expect_refused(AllOf(HasSubstr("100000001"), HasSubstr("header")));
}

TEST_F(Header, LongerThanTheFileIsRefused) {
  const std::uint64_t length = 1000;
  write_file_atomically(file(), std::string(reinterpret_cast<const char*>(&length), 8) + "{}");
  expect_refused(HasSubstr("truncated"));
}

TEST_F(Header, OverlapsGapsAndOverrunsNameTheTensor) {
  write(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
        6);
  expect_refused(AllOf(HasSubstr("\"b\""), HasSubstr("overlaps")));
  write(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})",
        9);
  expect_refused(AllOf(HasSubstr("\"b\""), HasSubstr("unused")));
  write(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", 3);
  expect_refused(AllOf(HasSubstr("\"a\""), HasSubstr("truncated")));
  write(R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,4]}})", 4);
  expect_refused(AllOf(HasSubstr("\"a\""), HasSubstr("need 16")));
}

TEST_F(Header, NumbersThatAreNoSizesAreShownAsTheyStand) {
  for (const char* offsets : {"[-8,-4]", "[0,-4]", "[0.5,4]", "[0,4,8]", "[0,\"4\"]", "7"}) {
    write(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":)" + std::string(offsets) + "}}", 4);
    expect_refused(AllOf(HasSubstr("\"a\""), HasSubstr("data_offsets"), HasSubstr(offsets)));
  }
  for (const char* shape : {"[-4]", "[4.5]", "4", "[18446744073709551615]"}) {
    write(R"({"a":{"dtype":"U8","shape":)" + std::string(shape) + R"(,"data_offsets":[0,4]}})", 4);
    expect_refused(AllOf(HasSubstr("\"a\""), HasSubstr("shape"), HasSubstr(shape)));
  }
}

TEST_F(Header, EmptyTensorsAndMetadataAreFine) {
  write(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"a":{"dtype":"F32","shape":[0,3],"data_offsets":[0,0]}})",
      2);
  EXPECT_EQ(SafetensorsFile(file()).tensors().size(), 2U);
}

class Folder : public testing::Test {
 protected:
  Folder() : tensors_(test::random_tensors(config_, 1)) {}
  std::filesystem::path path() const { return folder_.path(); }
  void write_single() const { test::write_folder(path(), config_, tensors_); }
  void write_shards() const { test::write_folder(path(), config_, tensors_, 20'000); }
  // The weights with a table that `change` has edited.
  void write_edited(const std::function<void(std::vector<TensorHeader>&, test::TensorBytes&)>& change) const {
    write_single();
    std::vector<TensorHeader> specs = tensor_table(config_);
    test::TensorBytes tensors = tensors_;
    change(specs, tensors);
    for (const TensorHeader& spec : specs) tensors[spec.name].resize(static_cast<std::size_t>(spec.bytes()));
    test::write_file(path() / kFile, specs, tensors);
  }
  void change_index(const std::function<void(json&)>& change) const {
    json index = read_json_file(path() / kIndex);
    change(index);
    write_json_file(path() / kIndex, index);
  }
  void expect_refused(const testing::Matcher<std::string>& message) const {
    EXPECT_ERROR(CheckpointFiles{path()}, ErrorKind::bad_data, message);
    EXPECT_THAT(CheckpointFiles(path(), true).problems(), Contains(message));
  }
  const GptOssConfig config_ = tiny_config(ExpertStorage::mxfp4);
  const test::TensorBytes tensors_;
  const std::string name_ = "model.layers.1.mlp.router.bias";

 private:
  test::TempFolder folder_;
};

TEST_F(Folder, SingleFilesAndShardsOpen) {
  write_shards();
  EXPECT_GT(CheckpointFiles(path()).files().size(), 2U);
  EXPECT_EQ(CheckpointFiles(path()).bytes(), [&] {
    std::int64_t sum = 0;
    for (const auto& [name, bytes] : tensors_) sum += static_cast<std::int64_t>(bytes.size());
    return sum;
  }());
}

TEST_F(Folder, MissingTensor) {
  write_edited(
      [&](auto& specs, auto&) { std::erase_if(specs, [&](const TensorHeader& s) { return s.name == name_; }); });
  expect_refused(AllOf(HasSubstr(kFile), HasSubstr(name_), HasSubstr("missing")));
}

TEST_F(Folder, UnexpectedTensor) {
  write_edited([&](auto& specs, auto&) { specs.push_back({"model.layers.7.extra", Dtype::f32, {2}}); });
  expect_refused(AllOf(HasSubstr(kFile), HasSubstr("model.layers.7.extra"), HasSubstr("unexpected")));
}

TEST_F(Folder, WrongDtypeAndShape) {
  const auto edit = [&](Dtype dtype, std::vector<std::int64_t> shape) {
    write_edited([&](auto& specs, auto&) {
      auto& spec = *std::ranges::find(specs, name_, &TensorHeader::name);
      spec.dtype = dtype;
      spec.shape = std::move(shape);
    });
  };
  edit(Dtype::f32, {3});
  expect_refused(AllOf(HasSubstr(kFile), HasSubstr(name_), HasSubstr("dtype F32"), HasSubstr("BF16")));
  edit(Dtype::bf16, {4});
  expect_refused(AllOf(HasSubstr(kFile), HasSubstr(name_), HasSubstr("shape [4]"), HasSubstr("[3]")));
}

TEST_F(Folder, IndexNamingAnAbsentFile) {
  write_shards();
  change_index([&](json& index) { index["weight_map"][name_] = "model-00099-of-00099.safetensors"; });
  expect_refused(AllOf(HasSubstr(kIndex), HasSubstr("model-00099-of-00099.safetensors"), HasSubstr(name_)));
}

TEST_F(Folder, IndexNamingTheWrongFile) {
  write_shards();
  change_index([&](json& index) { index["weight_map"][name_] = index["weight_map"]["model.embed_tokens.weight"]; });
  expect_refused(AllOf(HasSubstr(kIndex), HasSubstr(name_), HasSubstr("stands in")));
}

TEST_F(Folder, IndexNamingATensorThatTheFileLacks) {
  write_shards();
  change_index([&](json& index) { index["weight_map"]["foo"] = index["weight_map"][name_]; });
  expect_refused(AllOf(HasSubstr(kIndex), HasSubstr("\"foo\""), HasSubstr("does not hold it")));
}

TEST_F(Folder, IndexLackingATensor) {
  write_shards();
  change_index([&](json& index) { index["weight_map"].erase(name_); });
  expect_refused(AllOf(HasSubstr(kIndex), HasSubstr(name_), HasSubstr("not in its weight_map")));
}

TEST_F(Folder, APipeInPlaceOfTheWeights) {
  write_shards();
  const std::string shard = read_json_file(path() / kIndex)["weight_map"][name_];
  std::filesystem::remove(path() / shard);
  ASSERT_EQ(::mkfifo((path() / shard).c_str(), 0600), 0);
  EXPECT_ERROR(CheckpointFiles{path()}, ErrorKind::bad_data, AllOf(HasSubstr(shard), HasSubstr("not a regular file")));
}

TEST_F(Folder, ForeignNamesAreShownWithoutTheirControlCharacters) {
  write_shards();
  change_index([&](json& index) { index["weight_map"]["tensor\x1b[2J"] = "no\nfile"; });
  expect_refused(AllOf(HasSubstr("tensor\\x1b[2J"), HasSubstr("no\\nfile")));
  write_json_file(path() / "manifest.json", {{"file_hashes", {{"hash\x07", "00"}}}});
  EXPECT_THAT(verify_checkpoint(path()).problems, Contains(HasSubstr("hash\\x07")));
}

TEST_F(Folder, IndexLeadingOutOfTheFolder) {
  write_shards();
  change_index([&](json& index) { index["weight_map"][name_] = "../secret.safetensors"; });
  expect_refused(AllOf(HasSubstr(kIndex), HasSubstr(name_)));
  change_index([&](json& index) { index.erase("weight_map"); });
  EXPECT_ERROR(CheckpointFiles{path()}, ErrorKind::bad_data, AllOf(HasSubstr(kIndex), HasSubstr("weight_map")));
}

TEST_F(Folder, TensorInTwoShards) {
  write_shards();
  const std::string second = "model-00002-of-0000";
  std::filesystem::path file;
  for (const auto& entry : std::filesystem::directory_iterator(path()))
    if (entry.path().filename().string().starts_with(second)) file = entry.path();
  test::write_file(file, {{name_, Dtype::bf16, {3}}}, tensors_);
  EXPECT_ERROR(CheckpointFiles{path()}, ErrorKind::bad_data, AllOf(HasSubstr(name_), HasSubstr("more problems")));
  EXPECT_THAT(CheckpointFiles(path(), true).problems(),
              Contains(AllOf(HasSubstr(name_), HasSubstr(second), HasSubstr("as well"))));
}

TEST_F(Folder, TruncatedShard) {
  write_shards();
  const std::filesystem::path file = CheckpointFiles(path()).files().back()->path();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
  expect_refused(AllOf(HasSubstr(file.filename().string()), HasSubstr("truncated")));
}

TEST_F(Folder, AnIndexOfNothing) {
  write_shards();
  change_index([](json& index) { index["weight_map"] = json::object(); });
  expect_refused(AllOf(HasSubstr(kIndex), HasSubstr("model.embed_tokens.weight"), HasSubstr("missing")));
}

TEST(CheckpointFolder, AnAdapterIsToBeMergedFirst) {
  const test::TempFolder folder;
  const auto adapter = folder.write("adapter/adapter_config.json", "{}").parent_path();
  const auto says = AllOf(HasSubstr(adapter.string() + ": is an adapter"),
                          HasSubstr("checkpoint merge --model BASE --adapter " + adapter.string()));
  EXPECT_ERROR(load_checkpoint_config(adapter), ErrorKind::bad_data, says);
  EXPECT_ERROR(CheckpointFiles{adapter}, ErrorKind::bad_data, says);
}

TEST_F(Folder, NoWeightsAtAll) {
  write_single();
  std::filesystem::remove(path() / kFile);
  expect_refused(HasSubstr(kFile));
}

TEST_F(Folder, WithoutDtypeTheTensorsDecide) {
  for (const char* dtype : {"bfloat16", "float32"}) {
    const GptOssConfig config = tiny_config(ExpertStorage::expanded, dtype);
    test::write_folder(path(), config, test::random_tensors(config, 2));
    json root = read_json_file(path() / "config.json");
    root.erase("dtype");
    write_json_file(path() / "config.json", root);
    EXPECT_EQ(CheckpointFiles(path()).config().dtype, dtype);
  }
}

TEST(RunFolder, InTheModelsPlaceIsToldWhereItsCheckpointsAre) {
  const test::TempFolder folder;
  const auto inspect = [&] { return CheckpointFiles{folder / "run"}; };
  folder.write("run/warm_start/adapter_config.json", "{}");
  folder.write("run/best/adapter_config.json", "{}");
  EXPECT_ERROR(
      inspect(), ErrorKind::bad_data,
      AllOf(HasSubstr("is a run folder"), HasSubstr((folder / "run/best").string() + ", "),
            HasSubstr((folder / "run/warm_start").string()), HasSubstr("--adapter " + (folder / "run/best").string())));
  folder.write("run/warm_start/config.json", "{}");
  EXPECT_ERROR(inspect(), ErrorKind::bad_data,
               AllOf(HasSubstr("is a run folder"), HasSubstr("checkpoints, " + (folder / "run/warm_start").string())));
}

}  // namespace
}  // namespace kc
