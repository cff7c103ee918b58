// Every status, provoked by a real source.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <stop_token>

#include "tests/measure/task_files.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A body of `run` with x, y and n at hand.
std::string with_body(const std::string& body, const std::string& before = "") {
  return before +
         "\nvoid run(const Case* c, const void* const* inputs, void* const* outputs) {\n"
         "  const float* x = (const float*)inputs[0]; float* y = (float*)outputs[0]; const long long n = c->N;\n" +
         body + "\n}\n";
}

constexpr const char* kHonestLoop = "for (long long i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;";

class HostStatusesTest : public ::testing::Test {
 protected:
  void expect(const std::string& source, MeasurementStatus status, const std::string& log) {
    const Measurement result = measure_source(pack_, source);
    EXPECT_EQ(name_of(result.status), name_of(status)) << result.log;
    EXPECT_THAT(result.log, HasSubstr(log));
    EXPECT_TRUE(result.cases.empty());
  }

  TaskFiles files_;
  TaskPack pack_ = load_task_pack(files_.path());
};

TEST_F(HostStatusesTest, HonestKernelIsTimedOnEveryCaseBesideTheSeed) {
  const Measurement result = measure_source(pack_, with_body(kHonestLoop));
  ASSERT_EQ(result.status, MeasurementStatus::ok) << result.log;
  ASSERT_EQ(result.cases.size(), 2);
  EXPECT_EQ(result.cases[1].name, "odd");
  EXPECT_EQ(result.cases[1].work, 4001);
  EXPECT_GE(result.cases[0].candidate_ns.size(), 8);
  EXPECT_EQ(result.cases[0].candidate_ns.size(), result.cases[0].reference_ns.size());
  EXPECT_EQ(result.task, "affine");
  EXPECT_EQ(result.kernel_name, "candidate.cpp");
}

TEST_F(HostStatusesTest, CompileErrorKeepsTheCompilersMessageWithTheSourcesOwnLine) {
  expect("\nint broken = ;\n", MeasurementStatus::compile_error, "candidate.cpp:2");
}

TEST_F(HostStatusesTest, CrashNamesTheSignal) {
  expect(with_body("*(volatile int*)8 = 1;"), MeasurementStatus::runtime_error, "SIGSEGV");
  expect(with_body("__builtin_trap();"), MeasurementStatus::runtime_error, "SIGILL");
  expect(with_body("abort();", "#include <stdlib.h>"), MeasurementStatus::runtime_error, "SIGABRT");
}

TEST_F(HostStatusesTest, WrongValueIsIncorrectAndSaysWhere) {
  expect(with_body(std::string(kHonestLoop) + " y[n - 1] += 0.01f;"), MeasurementStatus::incorrect, "y[4095]");
}

TEST_F(HostStatusesTest, WrongOnOneCaseOnlyIsIncorrect) {
  expect(with_body("for (long long i = 0; i < n / 4 * 4; ++i) y[i] = 2.0f * x[i] + 1.0f;"),
         MeasurementStatus::incorrect, "case odd");
}

TEST_F(HostStatusesTest, OutputLeftUnwrittenIsIncorrectHoweverOftenItWasRightBefore) {
  expect(with_body("static int calls = 0; if (calls++ > 1) return; " + std::string(kHonestLoop)),
         MeasurementStatus::incorrect, "expected");
  expect(with_body("for (long long i = 0; i < n; i += 2) y[i] = 2.0f * x[i] + 1.0f;"), MeasurementStatus::incorrect,
         "y[1]");
}

TEST_F(HostStatusesTest, WrongWithinABatchOfTimedRunsIsIncorrect) {
  expect(with_body("static int calls = 0; " + std::string(kHonestLoop) + " if (++calls == 60) y[7] = 0;"),
         MeasurementStatus::incorrect, "y[7]");
}

TEST_F(HostStatusesTest, WritingPastAnOutputIsARuntimeError) {
  expect(with_body(std::string(kHonestLoop) + " y[n] = 0;"), MeasurementStatus::runtime_error, "outside the outputs");
  expect(with_body(std::string(kHonestLoop) + " y[-1] = 0;"), MeasurementStatus::runtime_error, "outside the outputs");
}

TEST_F(HostStatusesTest, WritingToAnInputIsARuntimeError) {
  expect(with_body(std::string(kHonestLoop) + " ((float*)x)[0] = 0;"), MeasurementStatus::runtime_error, "read-only");
}

TEST_F(HostStatusesTest, EndlessLoopIsATimeout) {
  expect(with_body("for (;;) asm volatile(\"\");"), MeasurementStatus::timeout, "0.5 s");
}

TEST_F(HostStatusesTest, EndlessStaticInitialiserIsATimeout) {
  expect(with_body(kHonestLoop, "static int wait() { for (;;) asm volatile(\"\"); } static int waited = wait();"),
         MeasurementStatus::timeout, "loading");
}

TEST_F(HostStatusesTest, EndingTheProcessIsARuntimeError) {
  expect(with_body(std::string(kHonestLoop) + " _exit(0);", "#include <unistd.h>"), MeasurementStatus::runtime_error,
         "exit status 0");
}

TEST_F(HostStatusesTest, ResultsAndCallbacksComeInTheOrderOfTheRequests) {
  const std::vector<MeasureRequest> requests = {{&pack_, candidate_of("#error no\n")},
                                                {&pack_, candidate_of(with_body(kHonestLoop))},
                                                {&pack_, candidate_of(with_body("__builtin_trap();"))},
                                                {&pack_, candidate_of(with_body("y[0] = x[0];"))}};
  std::vector<std::size_t> called;
  const auto results = make_host_measurer(quick_options(), 1)
                           ->measure(requests, [&](std::size_t i, const Measurement&) { called.push_back(i); }, {});
  std::vector<MeasurementStatus> statuses;
  for (const Measurement& result : results) statuses.push_back(result.status);
  EXPECT_THAT(statuses, ElementsAre(MeasurementStatus::compile_error, MeasurementStatus::ok,
                                    MeasurementStatus::runtime_error, MeasurementStatus::incorrect));
  EXPECT_THAT(called, ElementsAre(0, 1, 2, 3));
}

TEST_F(HostStatusesTest, ProvenanceNamesMachineCompilerAndNoise) {
  const Provenance provenance = measure_source(pack_, with_body(kHonestLoop)).provenance;
  EXPECT_FALSE(provenance.processor.empty());
  EXPECT_EQ(provenance.device, provenance.processor);
  EXPECT_THAT(provenance.compiler, HasSubstr("g++"));
  EXPECT_EQ(provenance.compiler_flags, "-std=c++17 -shared -fPIC -O2");
  EXPECT_EQ(provenance.harness_version, kHostHarnessVersion);
  EXPECT_EQ(provenance.run_id.size(), 16);
  EXPECT_THAT(provenance.started_at, ::testing::MatchesRegex("[0-9-]{10}T[0-9:]{8}Z"));
  EXPECT_GT(provenance.noise_floor, 0);
}

TEST_F(HostStatusesTest, StopsBetweenCandidatesWhenAsked) {
  const std::vector<MeasureRequest> requests(3, {&pack_, candidate_of(with_body(kHonestLoop))});
  std::stop_source source;
  std::size_t finished = 0;
  const auto stop_after_first = [&](std::size_t, const Measurement&) {
    ++finished;
    source.request_stop();
  };
  EXPECT_ERROR(make_host_measurer(quick_options(), 1)->measure(requests, stop_after_first, source.get_token()),
               ErrorKind::interrupted, ::testing::_);
  EXPECT_EQ(finished, 1);
}

TEST_F(HostStatusesTest, MissingCompilerIsAnErrorOfTheEnvironment) {
  HostOptions options;
  options.compiler = "no-such-compiler";
  EXPECT_ERROR(make_host_measurer(options, 1), ErrorKind::environment, HasSubstr("no-such-compiler"));
}

}  // namespace
}  // namespace kc::test
