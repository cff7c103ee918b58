#include "measure/compile.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>

#include "measure/host_environment.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class CompileTest : public ::testing::Test {
 protected:
  CompileResult compile(const std::string& unit, const HostOptions& options = {}) {
    const CompileEnvironment environment = make_compile_environment(options, folder_);
    const CompileJob job{unit, "run", {"-O1"}, folder_.path() / ("job" + std::to_string(jobs_++))};
    return compile_all(environment, {job}, {}).at(0);
  }

  TemporaryFolder folder_;
  int jobs_ = 0;
};

TEST_F(CompileTest, KeepsTheCompilersWordsWithoutItsFolder) {
  const CompileResult result = compile("extern \"C\" void run() { undeclared(); }\n");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, HasSubstr("undeclared"));
  EXPECT_THAT(result.log, Not(HasSubstr(folder_.path().string())));
}

TEST_F(CompileTest, CutsALongLog) {
  std::string unit;
  for (int i = 0; i < 500; ++i) unit += "int x = undeclared" + std::to_string(i) + ";\n";
  EXPECT_EQ(compile(unit).log.size(), kLogExcerpt);
}

TEST_F(CompileTest, RefusesASourceThatDoesNotDefineTheFunction) {
  EXPECT_THAT(compile("int unrelated;\n").log, HasSubstr("run"));
}

TEST_F(CompileTest, RefusesASymbolThatNobodyDefines) {
  EXPECT_THAT(compile("void missing(); extern \"C\" void run() { missing(); }\n").log, HasSubstr("missing"));
}

TEST_F(CompileTest, StopsACompilationAtItsTimeLimit) {
  HostOptions options;
  options.compile_timeout_s = 1;
  const auto start = std::chrono::steady_clock::now();
  const CompileResult result = compile(
      "template <int K> constexpr long count() {\n"
      "  long sum = K;\n"
      "  for (int i = 0; i < 1000; ++i) for (int j = 0; j < 2000; ++j) sum += j;\n"
      "  return sum;\n}\n"
      "template <int K> struct S { static constexpr long v = count<K>() + S<K - 1>::v; };\n"
      "template <> struct S<0> { static constexpr long v = 0; };\n"
      "extern \"C\" long run() { return S<100>::v; }\n",
      options);
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, AnyOf(HasSubstr("stopped after 1 s of processor time"), HasSubstr("stopped after 4 s")))
      << "the second where others keep the processor";
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST_F(CompileTest, NamesItsOwnLimitOfOutputAndDoesNotBlameTheCompiler) {
  HostOptions options;
  options.output_limit_mb = 1;
  const CompileResult result =
      compile("asm(\".data\\n.fill 3000000,1,1\\n.text\");\nextern \"C\" void run() {}\n", options);
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, AllOf(HasSubstr("a file of more than 1 MB (measure.output_limit_mb)"),
                                Not(HasSubstr("bug report")), Not(HasSubstr("internal compiler error"))));
}

TEST_F(CompileTest, TakesNoWordsOfASourceForThoseOfTheCompiler) {
  for (const char* source : {"int x = *\"File size limit exceeded\"->y;\n", "#error CPU time limit exceeded\n",
                             "#error g++: fatal error: File size limit exceeded signal terminated program as\n"}) {
    const CompileResult result = compile(source);
    EXPECT_FALSE(result.ok);
    EXPECT_THAT(result.log, AllOf(HasSubstr("limit exceeded"), HasSubstr("error"), Not(HasSubstr("was stopped"))));
  }
}

TEST_F(CompileTest, DoesNotReadFilesThatOnlyRootMay) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give up root";
  const TempFolder secret;
  const auto file = secret.write("secret.h", "#error the secret\n");
  const CompileResult result = compile("#include \"" + file.string() + "\"\nextern \"C\" void run() {}\n");
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.log, Not(HasSubstr("the secret")));
}

TEST_F(CompileTest, KeepsTheOrderOfManyJobs) {
  HostOptions options;
  options.compile_jobs = 2;
  std::vector<CompileJob> jobs;
  for (int i = 0; i < 5; ++i) {
    const std::string unit = i == 3 ? "#error third\n" : "extern \"C\" void run() {}\n";
    jobs.push_back({unit, "run", {}, folder_.path() / ("many" + std::to_string(i))});
  }
  const auto results = compile_all(make_compile_environment(options, folder_), jobs, {});
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(results[i].ok, i != 3) << i;
}

}  // namespace
}  // namespace kc::test
