// `measure compare` as a user meets it.
#include <gmock/gmock.h>

#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

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
}

}  // namespace
}  // namespace kc::test
