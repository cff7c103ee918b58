#include "measure/compile_ahead.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/error.h"
#include "measure/host_environment.h"
#include "tests/measure/task_files.h"

namespace kc::test {
namespace {

namespace fs = std::filesystem;

TEST(SpareCores, AreLeftFromThreeOn) {
  EXPECT_EQ(spare_cores(1, 1), 0);
  EXPECT_EQ(spare_cores(2, 1), 0);
  EXPECT_EQ(spare_cores(3, 1), 1);
  EXPECT_EQ(spare_cores(64, 1), 62);
  EXPECT_EQ(spare_cores(8, 4), 3);
  EXPECT_EQ(spare_cores(4, 4), 0);
}

class CompileAheadTest : public ::testing::Test {
 protected:
  std::vector<CompileJob> jobs() const {
    return {{"extern \"C\" void run() {}\n", "run", {}, folder_.path() / "ahead"}};
  }
  bool compiled_within(double seconds) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    while (std::chrono::steady_clock::now() < deadline) {
      if (fs::exists(folder_.path() / "ahead" / kLibraryName)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  TemporaryFolder folder_;
  CompileEnvironment environment_ = make_compile_environment({}, folder_);
};

TEST_F(CompileAheadTest, WithASpareCoreCompilesBeforeAnybodyAsks) {
  CompileAhead ahead(environment_, jobs(), {}, 1);
  EXPECT_TRUE(compiled_within(60));
  EXPECT_TRUE(ahead.results({}).at(0).ok);
}

TEST_F(CompileAheadTest, WithoutOneCompilesWhenAsked) {
  CompileAhead ahead(environment_, jobs(), {}, 0);
  EXPECT_FALSE(compiled_within(0.5));
  EXPECT_TRUE(ahead.results({}).at(0).ok);
}

TEST_F(CompileAheadTest, LeavesNoFolderAndNoCompilerWhenNobodyAsks) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<CompileJob> slow = jobs();
  slow[0].unit =
      "template <int K> struct S { static constexpr long v = S<K - 1>::v + 1; };\n"
      "template <> struct S<0> { static constexpr long v = 0; };\n"
      "extern \"C\" long run() { return S<800>::v; }\n" +
      std::string(1 << 20, '\n');
  {
    const CompileAhead ahead(environment_, slow, {}, 1);
  }
  EXPECT_FALSE(fs::exists(folder_.path() / "ahead"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

TEST_F(CompileAheadTest, ACandidateInCIsCompiledAsC) {
  TaskFiles files(Files{{"plain.c", "int class = 1;\n" + std::string(kHonestSource)},
                        {"task.yaml", replaced(kTaskYaml, "  - {source: honest.cpp}\n",
                                               "  - {source: honest.cpp}\n  - {source: plain.c}\n")}});
  const TaskPack pack = load_task_pack(files.path());
  const std::vector<Candidate> candidates = list_candidates(pack);
  ASSERT_EQ(candidates.back().kernel.language, "c");
  EXPECT_TRUE(has_c_sources(pack));
  const CompileJob job = candidate_job(pack, candidates.back(), folder_.path() / "c");
  EXPECT_TRUE(compile_all(environment_, {job}, {}).at(0).ok) << "`class` is a name in C";
  Candidate as_cpp = candidates.back();
  as_cpp.kernel.language = "cpp";
  EXPECT_FALSE(compile_all(environment_, {candidate_job(pack, as_cpp, folder_.path() / "cpp")}, {}).at(0).ok);
}

TEST_F(CompileAheadTest, ATaskMayNameItsCompiler) {
  TaskFiles files(Files{{"task.yaml", replaced(kTaskYaml, "compiler: {flags: [-O2]}",
                                               "compiler: {flags: [-O2], program: no-such-compiler, c_program: cc}")}});
  const TaskPack pack = load_task_pack(files.path());
  EXPECT_EQ(pack.c_compiler, "cc");
  EXPECT_THROW(candidate_job(pack, candidate_of(kHonestSource), folder_.path() / "x"), Error);
}

}  // namespace
}  // namespace kc::test
