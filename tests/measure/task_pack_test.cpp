#include "measure/task_pack.h"

#include <gmock/gmock.h>

#include "tests/measure/task_files.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void expect_fault(const std::string& from, const std::string& to, const std::string& place,
                  const std::string& message) {
  const TaskFiles files(Files{{"task.yaml", replaced(kTaskYaml, from, to)}});
  EXPECT_ERROR(load_task_pack(files.path()), ErrorKind::bad_data,
               AllOf(HasSubstr("task.yaml:" + place), HasSubstr(message)));
}

TEST(TaskPack, ReadsEveryPartOfAWellFormedPack) {
  const TaskFiles files;
  const TaskPack pack = load_task_pack(files.path());
  EXPECT_EQ(pack.name, "affine");
  ASSERT_EQ(pack.cases.size(), 2);
  EXPECT_EQ(pack.cases[1].sizes.at("N"), 4001);
  EXPECT_EQ(pack.inputs.at(0).generator, "normal");
  EXPECT_EQ(elements_of(pack.outputs.at(0), pack.cases[0]), 4096);
  EXPECT_EQ(work_of(pack, pack.cases[1]), 4001);
  EXPECT_EQ(pack.compiler_flags, std::vector<std::string>{"-O2"});
  EXPECT_EQ(pack.seed.source, kHonestSource);
}

TEST(TaskPack, ANegativeNumberOfInstancesIsNoWordForAll) {
  expect_fault("{source: honest.cpp}\ncompiler", "{source: honest.cpp, max_instances: -3}\ncompiler", "15",
               "max_instances: expected 0 (all) or more, got -3");
}

TEST(TaskPack, AByteOrderMarkIsNoPartOfASource) {
  const std::string mark = "\xEF\xBB\xBF";
  const TaskFiles files(Files{{"honest.cpp", mark + kHonestSource}, {"reference.cpp", mark + kReferenceSource}});
  const TaskPack pack = load_task_pack(files.path());
  EXPECT_EQ(pack.reference_source, kReferenceSource);
  EXPECT_EQ(pack.seed.source, kHonestSource);
  EXPECT_EQ(pack.sources.at(0).text, kHonestSource);
  EXPECT_EQ(pack.seed.template_id, load_task_pack(TaskFiles().path()).seed.template_id);
}

TEST(TaskPack, RefusesAnUnknownKeyWithItsLine) { expect_fault("title:", "titel:", "2", "unknown key"); }

TEST(TaskPack, RefusesAnUnknownKeyInsideAnInput) {
  expect_fault("dtype: f32, shape: \"N\", generator", "dtyp: f32, shape: \"N\", generator", "8", "dtyp");
}

TEST(TaskPack, RefusesAKeyThatStandsTwiceAndNamesBothLines) {
  expect_fault("work: \"N\"", "work: \"N\"\nthreads: 1\nthreads: 0", "19", "'threads' stands twice, first in line 18");
  expect_fault("work: \"N\"", "tolerance: {relative: 1, reason: none}", "17",
               "'tolerance' stands twice, first in line 11");
  expect_fault("reason: two", "relative: 1, reason: two", "11", "'relative' stands twice");
  expect_fault("{N: 4001}", "{N: 4001, N: 1}", "6", "'N' stands twice");
  expect_fault("kind: normal", "kind: normal, kind: gaussian", "8", "'kind' stands twice");
}

TEST(TaskPack, ReadsADerivedToleranceAndHardInputs) {
  const TaskFiles files(Files{
      {"task.yaml",
       replaced(replaced(kTaskYaml, "relative: 1.0e-6, absolute: 1.0e-6, reason: two roundings", "standard_errors: 8"),
                "{kind: normal}", "{kind: normal}, check_generator: {kind: wide, octaves: 9}")}});
  const TaskPack pack = load_task_pack(files.path());
  EXPECT_TRUE(pack.tolerance.is_derived());
  EXPECT_EQ(pack.tolerance.standard_errors, 8);
  EXPECT_EQ(pack.inputs[0].generator, "normal");
  EXPECT_TRUE(pack.inputs[0].options.empty());
  EXPECT_EQ(pack.inputs[0].check_generator, "wide");
  EXPECT_EQ(pack.inputs[0].check_options.at("octaves"), "9");
}

TEST(TaskPack, RefusesACheckGeneratorThatDoesNotFitTheSizesOfAnotherDevice) {
  const std::string yaml =
      replaced(replaced(kTaskYaml, "{kind: normal}", "{kind: normal}, check_generator: {kind: wide, octaves: N / 100}"),
               "work: \"N\"\n",
               "work: \"N\"\ndevices: [host, cuda]\ncuda:\n  seed: {source: honest.cpp}\n"
               "  cases:\n    - {name: large, sizes: {N: 1000000}}\n");
  const TaskFiles files(Files{{"task.yaml", yaml}});
  EXPECT_ERROR(load_task_pack(files.path()), ErrorKind::bad_data, HasSubstr("got 10000"));
}

TEST(TaskPack, RefusesATolerancesOfTwoKindsOrOfNone) {
  expect_fault("relative: 1.0e-6,", "standard_errors: 8,", "11", "either this or standard_errors");
  expect_fault("relative: 1.0e-6, absolute: 1.0e-6, reason: two roundings", "standard_errors: 0.5", "11",
               "expected 1 to 1000");
  expect_fault(
      "{name: y, dtype: f32, shape: \"N\"}\ntolerance: {relative: 1.0e-6, absolute: 1.0e-6, reason: two roundings}",
      "{name: y, dtype: i32, shape: \"N\"}\ntolerance: {standard_errors: 8}", "11", "no output is floating");
  expect_fault("tolerance: {relative: 1.0e-6, absolute: 1.0e-6, reason: two roundings}",
               "  - {name: z, dtype: f64, shape: \"N\"}\ntolerance: {standard_errors: 8}", "12", "different types");
  expect_fault("{kind: normal}", "{kind: normal}, check_generator: {kind: gaussian}", "8",
               "unknown generator 'gaussian'");
}

TEST(TaskPack, RefusesANumberOfThreadsThatNoMachineHas) {
  for (const char* threads : {"0", "1025", "4294967297", "-4294967295"}) {
    expect_fault("work: \"N\"", std::string("work: \"N\"\nthreads: ") + threads, "18", "threads: expected 1 to 1024");
  }
}

TEST(TaskPack, NamesAMissingSourceAndItsLine) {
  expect_fault("reference: reference.cpp", "reference: absent.cpp", "12", "absent.cpp is missing");
}

TEST(TaskPack, RefusesAnIllFormedShapeWithItsLine) {
  expect_fault("shape: \"N\", gen", "shape: \"N *\", gen", "8", "N *");
}

TEST(TaskPack, RefusesAShapeOfAnUnknownSize) {
  expect_fault("shape: \"N\"}", "shape: \"M\"}", "10", "bad expression 'M'");
}

TEST(TaskPack, RefusesAShapeThatIsNotAWholeNumber) {
  expect_fault("shape: \"N\"}", "shape: \"N / 3\"}", "10", "expected an integer");
}

TEST(TaskPack, RefusesAnUnknownGeneratorAndOption) {
  expect_fault("kind: normal", "kind: gaussian", "8", "unknown generator 'gaussian'");
  expect_fault("kind: normal", "kind: normal, variance: 2", "8", "no option 'variance'");
  expect_fault("kind: normal", "kind: integers, low: 0", "8", "needs the option 'high'");
}

TEST(TaskPack, RefusesACaseThatLacksASize) { expect_fault("sizes: {N: 4001}", "sizes: {}", "6", "lacks the size N"); }

TEST(TaskPack, RefusesANameThatIsNotTheFolders) {
  expect_fault("name: affine", "name: other", "1", "not the folder's name");
}

TEST(TaskPack, ReadsTheStateOfTheCachesAndRefusesWarmThreads) {
  TaskFiles files;
  EXPECT_TRUE(load_task_pack(files.path()).cold_cache);
  files.write("task.yaml", std::string(kTaskYaml) + "cache: warm\n");
  EXPECT_FALSE(load_task_pack(files.path()).cold_cache);
  expect_fault("work: \"N\"", "work: \"N\"\ncache: hot", "18", "expected cold or warm");
  expect_fault("work: \"N\"", "work: \"N\"\ncache: warm\nthreads: 2", "18", "one thread");
}

TEST(TaskPack, RefusesAToleranceWithoutAReason) {
  expect_fault(", reason: two roundings", "", "11", "'reason' is missing");
}

TEST(TaskPack, RefusesAnUnknownExpectedStatus) {
  expect_fault("{source: honest.cpp}\ncompiler", "{source: honest.cpp, expect: wrong}\ncompiler", "15",
               "unknown status 'wrong'");
}

TEST(TaskPack, SaysWhenTheFileIsNotYaml) {
  const TaskFiles files(Files{{"task.yaml", "name: [affine\n"}});
  EXPECT_ERROR(load_task_pack(files.path()), ErrorKind::bad_data, HasSubstr("not YAML"));
}

TEST(TaskPack, LoadsEveryFolderWithATaskInOrderOfNames) {
  const TempFolder root;
  for (const std::string name : {"b", "a"}) {
    root.write(name + "/task.yaml", replaced(kTaskYaml, "name: affine", "name: " + name));
    root.write(name + "/reference.cpp", kReferenceSource);
    root.write(name + "/honest.cpp", kHonestSource);
  }
  const std::vector<TaskPack> packs = load_task_packs(root.path());
  ASSERT_EQ(packs.size(), 2);
  EXPECT_EQ(packs[0].name, "a");
  EXPECT_ERROR(load_task_packs(root / "absent"), ErrorKind::bad_data, HasSubstr("no folder with a task.yaml"));
}

}  // namespace
}  // namespace kc::test
