// Where `checkpoint convert` and `checkpoint merge` may put their result: decided before any work, and nothing is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/atomic_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"
#include "tests/weights/folders.h"
#include "weights/conversion.h"

namespace kc {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class CurrentFolder {
 public:
  explicit CurrentFolder(const fs::path& folder) { fs::current_path(folder); }
  ~CurrentFolder() { fs::current_path(before_); }
  CurrentFolder(const CurrentFolder&) = delete;
  CurrentFolder& operator=(const CurrentFolder&) = delete;

 private:
  fs::path before_ = fs::current_path();
};

class OutputFolder : public testing::Test {
 protected:
  fs::path source() const { return folder_ / "source"; }
  fs::path out() const { return folder_ / "result"; }
  void allow() const { EXPECT_NO_THROW(require_output_folder(out(), source(), {source()})); }
  void refuse(const fs::path& place, const std::string& reason) const {
    const std::size_t before = folder_.count();
    EXPECT_ERROR(require_output_folder(place, source(), {source()}), ErrorKind::usage,
                 AllOf(HasSubstr("--out " + place.string()), HasSubstr(reason)));
    EXPECT_EQ(folder_.count(), before);
  }
  const test::TempFolder folder_;
  const fs::path config_ = folder_.write("source/config.json", R"({"model_type": "gpt_oss"})");
};

TEST_F(OutputFolder, OnlyTheExactNamesOfWeightsAreReplaced) {
  folder_.write("result/config.json", R"({"model_type": "gpt_oss"})");
  for (const char* name : {"model.safetensors", "model-00001-of-00002.safetensors", "model-12345-of-67890.safetensors",
                           "model.safetensors.index.json", "manifest.json"})
    folder_.write(out() / name, "old");
  allow();
  for (const char* name :
       {"model-1-of-2.safetensors", "model-1-of-2-anything.safetensors", "model-00001-of-00002-mine.safetensors",
        "model-00001-of-0000a.safetensors", "model-000001-of-00002.safetensors", "model-00001-of-00002.safetensors.old",
        "my-model-00001-of-00002.safetensors", "model-.safetensors"}) {
    folder_.write(out() / name, "mine");
    refuse(out(), name);
    EXPECT_EQ(read_file(out() / name), "mine");
    fs::remove(out() / name);
  }
}

TEST_F(OutputFolder, OnlyAModelsConfigMakesAModelFolder) {
  for (const char* config :
       {R"({"theme": "dark"})", "{}", "[]", "\"model_type\"", "no JSON", R"({"num_experts": 4})", ""}) {
    folder_.write("result/config.json", config);
    refuse(out(), "no model folder");
    EXPECT_EQ(read_file(out() / "config.json"), config);
  }
  for (const char* config : {R"({"model_type": "gpt_oss"})", R"({"num_experts": 4, "rope_scaling_factor": 32})"}) {
    folder_.write("result/config.json", config);
    allow();
  }
  fs::remove(out() / "config.json");
  fs::create_directory(out() / "config.json");
  refuse(out(), "no model folder");
}

TEST_F(OutputFolder, ASymbolicLinkIsNeitherFollowedNorReplaced) {
  folder_.write("elsewhere/config.json", R"({"model_type": "gpt_oss"})");
  fs::create_directory_symlink("elsewhere", out());
  refuse(out(), "symbolic link");
  refuse(out(), "elsewhere");
  refuse(out() / "", "symbolic link");
  EXPECT_TRUE(fs::is_symlink(out()));
  fs::remove_all(folder_ / "elsewhere");
  refuse(out(), "symbolic link");  // to nothing: it would be replaced as well
  EXPECT_TRUE(fs::is_symlink(out()));
}

TEST_F(OutputFolder, APlaceThatARenameCannotReplaceIsRefused) {
  fs::create_directories(folder_ / "result/below");
  {
    const CurrentFolder inside(folder_ / "result/below");
    for (const char* place : {".", "./", "..", "../below", "../below/", "../below/."}) refuse(place, "current folder");
    refuse(out() / "below", "current folder");
    EXPECT_NO_THROW(require_output_folder("new", source(), {source()}));
  }
  fs::remove(out() / "below");
  allow();
  refuse("/proc", "mount point");
  refuse("/", "cannot be replaced");
  refuse("", "is empty");
}

TEST_F(OutputFolder, TheProgramSaysSoBeforeItReadsTheModel) {
  fs::create_directory_symlink("elsewhere", out());
  const auto result = test::run_program(
      {.program = "checkpoint", .arguments = {"convert", "--model", source().string(), "--out", out().string()}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("symbolic link"));
  const auto help = test::run_program({.program = "checkpoint", .arguments = {"convert", "--help"}});
  EXPECT_THAT(help.out, HasSubstr("symbolic link"));
}

}  // namespace
}  // namespace kc
