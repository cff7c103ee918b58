#include "measure/memory_need.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/measure/task_files.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(UsableMemory, IsWhatTheMachineSaysThatItHasLeft) {
  const TempFolder root;
  EXPECT_TRUE(std::isinf(usable_memory(root.path())));
  root.write("proc/meminfo", "MemTotal:       4000 kB\nMemAvailable:   3000 kB\n");
  EXPECT_EQ(usable_memory(root.path()), 3000 * 1024);
}

TEST(UsableMemory, IsAtMostWhatAControlGroupAroundTheProcessHasLeft) {
  const TempFolder root;
  root.write("proc/meminfo", "MemAvailable:   3000 kB\n");
  root.write("proc/self/cgroup", "4:cpu,memory:/outer/inner\n0::/unified\n");
  root.write("sys/fs/cgroup/memory/outer/memory.limit_in_bytes", "100000\n");
  root.write("sys/fs/cgroup/memory/outer/memory.usage_in_bytes", "60000\n");
  root.write("sys/fs/cgroup/memory/outer/memory.stat", "cache 5\ntotal_inactive_file 15000\ntotal_active_file 5000\n");
  root.write("sys/fs/cgroup/memory/outer/inner/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(usable_memory(root.path()), 60000);
  root.write("sys/fs/cgroup/unified/memory.max", "max\n");
  EXPECT_EQ(usable_memory(root.path()), 60000);
  root.write("sys/fs/cgroup/unified/memory.max", "50000\n");
  root.write("sys/fs/cgroup/unified/memory.current", "70000\n");
  EXPECT_EQ(usable_memory(root.path()), 0);
  root.write("sys/fs/cgroup/unified/memory.stat", "active_file 30000\ninactive_file 1000\nslab_reclaimable 2000\n");
  EXPECT_EQ(usable_memory(root.path()), 13000);
}

TEST(RequireMemory, NamesTheLargestCaseWhatIsNeededAndWhatIsThere) {
  const TaskFiles files;
  const TaskPack pack = load_task_pack(files.path());
  require_memory(pack, {.sets = 5, .processes = 5}, 1e9);
  EXPECT_ERROR(require_memory(pack, {.sets = 5, .processes = 5}, 100000), ErrorKind::environment,
               AllOf(HasSubstr("task affine"), HasSubstr("case is even"), HasSubstr("has 100000 bytes left"),
                     HasSubstr("task.yaml")));
  // An input of f32, an expected value and its bound in f64, and guards.
  EXPECT_ERROR(require_memory(pack, {}, 0), ErrorKind::environment, HasSubstr("takes 82432 bytes"));
}

TEST(RequireMemory, ASessionThatNoMachineHoldsEndsBeforeItMapsAnything) {
  const TaskFiles files(Files{{"task.yaml", replaced(kTaskYaml, "N: 4096", "N: 1000000000000000")}});
  const TaskPack pack = load_task_pack(files.path());
  EXPECT_ERROR(measure_source(pack, kHonestSource), ErrorKind::environment,
               AllOf(HasSubstr("task affine"), HasSubstr("case is even"), HasSubstr("bytes left")));
}

}  // namespace
}  // namespace kc::test
