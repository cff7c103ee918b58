// `measure compare` as a user meets it.
#include <gmock/gmock.h>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class CompareCommand : public ::testing::Test {
 protected:
  ProgramResult compare(const std::string& tasks, const std::string& task) const {
    const std::string a = folder_.write("a.cpp", "// a\n"), b = folder_.write("b.cpp", "// b\n");
    return run_program({"measure", {"compare", "--device", "fake", "--tasks", tasks, "--task", task, a, b}});
  }
  TempFolder folder_;
};

TEST_F(CompareCommand, TakesATaskPackOrAFolderOfThem) {
  const std::string shipped = KC_SOURCE_DIR "/tasks";
  for (const std::string& tasks : {shipped, shipped + "/matmul", shipped + "/matmul/"}) {
    const ProgramResult result = compare(tasks, "matmul");
    EXPECT_EQ(result.exit_code, 0) << tasks << result.err;
    EXPECT_THAT(result.out, HasSubstr("speedup of B over A")) << tasks;
  }
}

TEST_F(CompareCommand, AnotherTaskThanThePackIsAUsageError) {
  const ProgramResult result = compare(KC_SOURCE_DIR "/tasks/matmul", "softmax");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("tasks/matmul, found 'softmax'"));
  const ProgramResult near = compare(KC_SOURCE_DIR "/tasks", "sofmax");
  EXPECT_EQ(near.exit_code, 2);
  EXPECT_THAT(near.err, AllOf(HasSubstr("did you mean 'softmax'"), HasSubstr("matmul, ")));
}

TEST_F(CompareCommand, AFileInALanguageThatTheDeviceDoesNotTakeIsAUsageError) {
  const std::string tasks = KC_SOURCE_DIR "/tasks";
  for (const auto& [name, language] : {std::pair("x.py", "python"), {"x.cu", "cuda"}}) {
    const ProgramResult result = run_program({"measure",
                                              {"compare", "--tasks", tasks, "--task", "softmax",
                                               folder_.write("a.c", "// a\n"), folder_.write(name, "// b\n")}});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_THAT(result.err, AllOf(HasSubstr(std::string(name) + ": a kernel in " + language),
                                  HasSubstr("kind host takes cpp and c")));
  }
}

TEST_F(CompareCommand, AnEmptyFolderOfTasksIsAUsageError) {
  ProgramResult result = compare("", "softmax");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--tasks is empty"));
  result = run_program({"measure", {"check", "--tasks", ""}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("--tasks is empty"));
}

// What labelling prints can be compared again without writing a file.
TEST_F(CompareCommand, TakesKernelsOfTheTaskByTheirNames) {
  const auto call = [](const std::string& a, const std::string& b) {
    const std::string tasks = KC_SOURCE_DIR "/tasks";
    return run_program({"measure", {"compare", "--device", "fake", "--tasks", tasks, "--task", "softmax", a, b}});
  };
  const std::string name =
      "softmax.cpp ALGORITHM=0 EXP=0 DIVIDE=0 VECTOR_WIDTH=1 ACCUMULATORS=1 ROW_BLOCK=1 DOUBLE_SUM=0";
  const ProgramResult result = call(name, folder_.write("a.cpp", "// a\n"));
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr(name));
  const ProgramResult wrong =
      call(name, "softmax.cpp ALGORITHM=0 EXP=7 DIVIDE=0 VECTOR_WIDTH=1 ACCUMULATORS=1 ROW_BLOCK=1 DOUBLE_SUM=0");
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_EQ(call(name, "absent.cpp").exit_code, 2);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr("EXP=7"), HasSubstr("neither a file nor a kernel of task softmax"),
                               HasSubstr("did you mean 'softmax.cpp ALGORITHM=0 EXP=")));
}

}  // namespace
}  // namespace kc::test
