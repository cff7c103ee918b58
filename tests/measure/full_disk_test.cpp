#include <gmock/gmock.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>

#include "tests/measure/task_files.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(FullDisk, IsAnErrorOfTheEnvironmentAndNoStatusOfACandidate) {
  const TaskFiles files;
  const TaskPack pack = load_task_pack(files.path());
  const TempFolder small;
  const bool mounted = ::geteuid() == 0 && ::unshare(CLONE_NEWNS) == 0 &&
                       ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                       ::mount("none", small.path().c_str(), "tmpfs", 0, "size=12k,mode=0755") == 0;
  if (!mounted) GTEST_SKIP() << "needs the right to mount a small file system";
  ::setenv("TMPDIR", small.path().c_str(), 1);
  EXPECT_ERROR(measure_source(pack, kHonestSource), ErrorKind::environment,
               AllOf(HasSubstr("No space left on device"), HasSubstr("TMPDIR")));
  ::unsetenv("TMPDIR");
  ::umount(small.path().c_str());
}

}  // namespace
}  // namespace kc::test
