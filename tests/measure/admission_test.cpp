#include <gmock/gmock.h>

#include "base/pattern.h"
#include "measure/compile.h"
#include "tests/measure/task_files.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void expect_refused(const TaskFiles& files, const std::string& reason) {
  const TaskPack pack = load_task_pack(files.path());
  EXPECT_ERROR(admit_task(pack, quick_options()), ErrorKind::bad_data, AllOf(HasSubstr("affine"), HasSubstr(reason)));
}

TEST(Admission, AdmitsASoundTask) {
  const TaskFiles files;
  const TaskPack pack = load_task_pack(files.path());
  EXPECT_NO_THROW(admit_task(pack, quick_options()));
}

TEST(Admission, EndsWhenItIsToldTo) {
  const TaskFiles files;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_ERROR(admit_task(load_task_pack(files.path()), quick_options(), stop.get_token()), ErrorKind::interrupted,
               ::testing::_);
}

TEST(Admission, NamesATaskWhoseReferenceIsWrong) {
  expect_refused(TaskFiles(Files{{"reference.cpp", replaced(kReferenceSource, "+ 1.0", "+ 1.5")}}),
                 "the reference disagree");
}

TEST(Admission, NamesATaskWhoseReferenceCrashesOrWritesOutside) {
  expect_refused(TaskFiles(Files{{"reference.cpp", replaced(kReferenceSource, "for", "__builtin_trap(); for")}}),
                 "SIGILL");
  expect_refused(TaskFiles(Files{{"reference.cpp", replaced(kReferenceSource, "i < c->N", "i <= c->N")}}),
                 "outside its outputs");
}

TEST(Admission, NamesATaskWhoseReferenceDoesNotCompile) {
  expect_refused(TaskFiles(Files{{"reference.cpp", "#error no reference\n"}}), "the reference does not compile");
}

TEST(Admission, NamesATaskWhoseReferenceIsNotFinite) {
  expect_refused(TaskFiles(Files{{"reference.cpp", replaced(kReferenceSource, "2.0 * x[i]", "x[i] / 0.0")}}),
                 "not finite");
}

TEST(Admission, RefusesATaskThatZerosWouldPass) {
  expect_refused(TaskFiles(Files{{"task.yaml", replaced(kTaskYaml, "absolute: 1.0e-6", "absolute: 1000")}}),
                 "returns zeros");
}

TEST(Admission, RefusesATaskThatACopyOfItsInputWouldPass) {
  expect_refused(TaskFiles(Files{{"reference.cpp", replaced(kReferenceSource, "2.0 * x[i] + 1.0", "x[i]")},
                                 {"honest.cpp", replaced(kHonestSource, "2.0f * x[i] + 1.0f", "x[i]")}}),
                 "copy of input x");
}

TEST(Admission, RefusesATaskThatOneValueWouldPass) {
  // Every sum of many terms of one sign is about the same.
  expect_refused(TaskFiles(Files{{"task.yaml", replaced(kTaskYaml, "absolute: 1.0e-6", "absolute: 10")},
                                 {"reference.cpp", replaced(kReferenceSource, "2.0 * x[i] + 1.0", "x[i] + 100.0")},
                                 {"honest.cpp", replaced(kHonestSource, "2.0f * x[i] + 1.0f", "x[i] + 100.0f")}}),
                 "the mean of each output");
}

TEST(Admission, RefusesATaskThatHalfTheDigitsWouldPass) {
  expect_refused(TaskFiles(Files{{"task.yaml", replaced(kTaskYaml, "relative: 1.0e-6", "relative: 1.0e-3")}}),
                 "with the digits of half");
  expect_refused(TaskFiles(Files{{"task.yaml", replaced(kTaskYaml, "relative: 1.0e-6", "relative: 1.0e-2")}}),
                 "with the digits of half");
}

// A kernel for doubles that computes in float is twice as fast, and half the digits are far coarser than what it does.
TEST(Admission, RefusesATaskForDoublesThatTheDigitsOfFloatWouldPass) {
  const auto all = [](const char* text, const char* from, const char* to) { return Pattern(from).replaced(text, to); };
  const auto files = [&](const char* tolerance) {
    return Files{
        {"task.yaml", replaced(all(kTaskYaml, "f32", "f64"), "relative: 1.0e-6, absolute: 1.0e-6", tolerance)},
        {"reference.cpp", all(kReferenceSource, "float", "double")},
        {"honest.cpp", replaced(all(kHonestSource, "float", "double"), "2.0f * x[i] + 1.0f", "2.0 * x[i] + 1.0")}};
  };
  expect_refused(TaskFiles(files("relative: 1.0e-6, absolute: 1.0e-9")), "its results with the digits of float");
  const TaskFiles tight(files("relative: 1.0e-14, absolute: 1.0e-14"));
  EXPECT_NO_THROW(admit_task(load_task_pack(tight.path()), quick_options()));
}

// Whole numbers keep all their digits in float; that says nothing about half.
TEST(Admission, TriesTheNextFormatWhereOneChangesNothing) {
  std::string yaml = replaced(kTaskYaml, "relative: 1.0e-6, absolute: 1.0e-6", "relative: 1.0e-2, absolute: 1.0e-9");
  yaml =
      replaced(Pattern("f32").replaced(yaml, "f64"), "{kind: normal}", "{kind: integers, low: -100000, high: 100000}");
  const auto in_double = [](const char* text) { return Pattern("float").replaced(text, "double"); };
  expect_refused(TaskFiles(Files{{"task.yaml", yaml},
                                 {"reference.cpp", in_double(kReferenceSource)},
                                 {"honest.cpp", in_double(kHonestSource)}}),
                 "its results with the digits of half");
}

TEST(Admission, WarnsAboutAToleranceThatTheSeedsErrorDoesNotExplain) {
  const TaskFiles files(Files{{"task.yaml", replaced(kTaskYaml, "relative: 1.0e-6", "relative: 2.0e-4")}});
  const TaskPack pack = load_task_pack(files.path());
  ::testing::internal::CaptureStderr();
  admit_task(pack, quick_options());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("times the error of the seed"));
}

constexpr const char* kFixedTolerance = "relative: 1.0e-6, absolute: 1.0e-6, reason: two roundings";
constexpr const char* kRoundedReference =
    R"(void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  const float* x = (const float*)inputs[0];
  real* y = (real*)outputs[0];
  for (long long i = 0; i < c->N; ++i) y[i] = 2.0 * real(x[i]) + 1.0;
}
)";

Files derived_files(Files files = {}) {
  files.insert({"task.yaml", replaced(replaced(kTaskYaml, kFixedTolerance, "standard_errors: 8"), "{kind: normal}",
                                      "{kind: normal}, check_generator: {kind: wide, octaves: 12}")});
  files.insert({"reference.cpp", kRoundedReference});
  return files;
}

TEST(Admission, DerivesTheToleranceFromAReferenceThatComputesWithRoundings) {
  const TaskFiles files(derived_files());
  const TaskPack pack = load_task_pack(files.path());
  ::testing::internal::CaptureStderr();
  EXPECT_NO_THROW(admit_task(pack, quick_options()));
  // Another test that measures at the time is waited for, which the log says too.
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), ::testing::Not(HasSubstr("warning")));
  const Measurement honest = measure_source(pack, replaced(kHonestSource, "2.0f * x[i]", "x[i] * 2.0f"));
  ASSERT_EQ(honest.status, MeasurementStatus::ok) << honest.log;
  EXPECT_GT(honest.facts.at("tolerance_share"), 0);
  EXPECT_LT(honest.facts.at("tolerance_share"), 0.5);
}

TEST(Admission, RefusesADerivedTaskWhoseReferenceWritesDoubles) {
  expect_refused(TaskFiles(derived_files({{"reference.cpp", kReferenceSource}})), "writes `real`");
  expect_refused(TaskFiles(derived_files({{"reference.cpp", replaced(kRoundedReference, "i < c->N", "i <= c->N")}})),
                 "outside its outputs");
}

// Sixteen sums of 20,000 terms: where these have one sign, a bound exceeds the size of some, and no rounding of outputs
// shows it.
constexpr const char* kLongSum = R"(void reference(const Case* c, const void* const* inputs, void* const* outputs) {
  real* sums = (real*)outputs[0];
  for (int s = 0; s < 16; ++s) sums[s] = 0;
  for (long long i = 0; i < c->N; ++i) sums[i / 2 % 16] += ((const float*)inputs[0])[i];
}
)";
constexpr const char* kLongSumKernel = R"(void run(const Case* c, const void* const* inputs, void* const* outputs) {
  float sums[16] = {};
  for (long long i = 0; i < c->N; ++i) sums[i / 2 % 16] += ((const float*)inputs[0])[i];
  for (int s = 0; s < 16; ++s) ((float*)outputs[0])[s] = sums[s];
}
)";

TEST(Admission, RefusesATaskThatInputsOfHalfTheDigitsWouldPass) {
  std::string yaml =
      replaced(replaced(kTaskYaml, kFixedTolerance, "standard_errors: 6"), "{kind: normal}", "{kind: uniform}");
  yaml = replaced(replaced(replaced(yaml, "N: 4096", "N: 320000"), "N: 4001", "N: 319999"),
                  "{name: y, dtype: f32, shape: \"N\"}", "{name: y, dtype: f32, shape: \"16\"}");
  Files files = {{"task.yaml", yaml}, {"reference.cpp", kLongSum}, {"honest.cpp", kLongSumKernel}};
  expect_refused(TaskFiles(files), "reads its inputs with the digits of half");
  files["task.yaml"] =
      replaced(yaml, "{kind: uniform}", "{kind: uniform}, check_generator: {kind: cancelling, octaves: 4}");
  const TaskFiles sound(files);
  EXPECT_NO_THROW(admit_task(load_task_pack(sound.path()), quick_options()));
}

// The largest values of f32 have no neighbour of fewer digits above them.
TEST(Admission, AdmitsInputsNearTheEndOfTheirType) {
  const std::string yaml = replaced(replaced(kTaskYaml, kFixedTolerance, "standard_errors: 6"), "{kind: normal}",
                                    "{kind: uniform, low: 3.0e38, high: 3.4025e38}");
  const TaskFiles files(
      Files{{"task.yaml", yaml},
            {"reference.cpp", replaced(kRoundedReference, "2.0 * real(x[i]) + 1.0", "0.5 * real(x[i])")},
            {"honest.cpp", replaced(kHonestSource, "2.0f * x[i] + 1.0f", "0.5f * x[i]")}});
  EXPECT_NO_THROW(admit_task(load_task_pack(files.path()), quick_options()));
}

TEST(Admission, WarnsAboutAReferenceThatComputesOutsideOfItsNumbers) {
  const std::string in_float = replaced(kRoundedReference, "2.0 * real(x[i]) + 1.0",
                                        "[&] { const float sum = 2.0f * x[i] + 1.0f; return real(sum); }()");
  const TaskFiles files(derived_files({{"reference.cpp", in_float}}));
  ::testing::internal::CaptureStderr();
  admit_task(load_task_pack(files.path()), quick_options());
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("write real(x) first"));
  expect_refused(TaskFiles(derived_files(
                     {{"reference.cpp", replaced(kRoundedReference, "2.0 * real(x[i])", "real(2.0f * x[i])")}})),
                 "the reference does not compile");
}

TEST(Admission, FlagsOfCandidatesDoNotChangeTheReference) {
  const std::string yaml = replaced(kTaskYaml, "[-O2]", "[-Ofast, -march=native, -DSIDE=3, -mdaz-ftz]");
  const TaskFiles files(Files{{"task.yaml", yaml}});
  EXPECT_EQ(reference_flags(load_task_pack(files.path())),
            (std::vector<std::string>{"-O3", "-march=native", "-DSIDE=3"}));
}

TEST(Admission, HardInputsAreCheckedWhereOneSetIsAskedForToo) {
  const TaskFiles files(derived_files());
  HostOptions options = quick_options();
  options.correctness_seeds = 1;
  const std::string saturating = replaced(kHonestSource, "2.0f * x[i]", "2.0f * (x[i] > 100.0f ? 100.0f : x[i])");
  const Measurement result = measure_source(load_task_pack(files.path()), saturating, options);
  EXPECT_EQ(result.status, MeasurementStatus::incorrect);
  EXPECT_THAT(result.log, HasSubstr("inputs of the check generator"));
}

TEST(Admission, HardInputsFindWhatIsWrongOnTheirsOnly) {
  const TaskFiles files(derived_files());
  const TaskPack pack = load_task_pack(files.path());
  // The digits of half, at no cost where values are of the usual size: what a type of little range does.
  const std::string saturating = replaced(kHonestSource, "2.0f * x[i]", "2.0f * (x[i] > 100.0f ? 100.0f : x[i])");
  const Measurement result = measure_source(pack, saturating);
  EXPECT_EQ(result.status, MeasurementStatus::incorrect);
  EXPECT_THAT(result.log, HasSubstr("expected"));
  const TaskFiles usual(Files{{"task.yaml", replaced(kTaskYaml, kFixedTolerance, "standard_errors: 8")},
                              {"reference.cpp", kRoundedReference}});
  EXPECT_EQ(measure_source(load_task_pack(usual.path()), saturating).status, MeasurementStatus::ok);
}

TEST(Admission, RefusesATaskThatIgnoresAnInput) {
  expect_refused(TaskFiles(Files{{"task.yaml", replaced(kTaskYaml, "outputs:",
                                                        "  - {name: idle, dtype: f32, shape: \"N\", "
                                                        "generator: {kind: uniform}}\noutputs:")}}),
                 "do not depend on input idle");
}

TEST(Admission, CheckReportsCandidatesWhoseStatusIsNotThePromisedOne) {
  const TaskFiles files(Files{{"task.yaml", replaced(kTaskYaml, "  - {source: honest.cpp}\n",
                                                     "  - {source: honest.cpp}\n"
                                                     "  - {source: wrong.cpp, expect: incorrect}\n"
                                                     "  - {source: right.cpp, expect: incorrect}\n"
                                                     "  - {source: broken.cpp}\n")},
                              {"wrong.cpp", replaced(kHonestSource, "1.0f", "2.0f")},
                              {"right.cpp", replaced(kHonestSource, "2.0f * x[i]", "x[i] * 2.0f")},
                              {"broken.cpp", "#error broken\n"}});
  const TaskPack pack = load_task_pack(files.path());
  const std::vector<TaskFinding> findings = check_task(pack, quick_options(), {}).findings;
  ASSERT_EQ(findings.size(), 2);
  EXPECT_EQ(findings[0].candidate, "right.cpp");
  EXPECT_EQ(findings[0].got, "ok");
  EXPECT_EQ(findings[1].candidate, "broken.cpp");
  EXPECT_EQ(findings[1].got, "compile_error");
  EXPECT_THAT(findings[1].log, HasSubstr("broken"));
}

TEST(Admission, CheckReportsASourceThatIsListedTwice) {
  const TaskFiles files(Files{{"task.yaml", replaced(kTaskYaml, "  - {source: honest.cpp}\n",
                                                     "  - {source: honest.cpp}\n"
                                                     "  - {source: copy.cpp}\n"
                                                     "  - {source: other.cpp}\n")},
                              {"copy.cpp", kHonestSource},
                              {"other.cpp", replaced(kHonestSource, "2.0f * x[i]", "x[i] * 2.0f")}});
  const std::vector<TaskFinding> findings = check_task(load_task_pack(files.path()), quick_options(), {}).findings;
  ASSERT_EQ(findings.size(), 1);
  EXPECT_EQ(findings[0].candidate, "copy.cpp");
  EXPECT_EQ(findings[0].got, "the same as honest.cpp");
}

}  // namespace
}  // namespace kc::test
