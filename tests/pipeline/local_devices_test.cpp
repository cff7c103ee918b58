// Devices that this machine's programs measure on: their tasks are admitted, their inputs are secret.
#include <gmock/gmock.h>

#include "pipeline/measure_setup.h"
#include "tests/cuda/cuda_task.h"
#include "tests/support/expect_error.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(AdmitTasks, RefusesACaseThatOnlyTheGpuHas) {
  // One number is its own mean: a candidate that returns that would pass.
  const CudaTask task(std::string(kCudaYaml) + "  cases: [{name: tiny, sizes: {N: 1}}]\n");
  const std::vector<TaskPack> packs = {load_task_pack(task.folder())};
  const OpenDevice host{nullptr, {pack_for_device(packs[0], "host")}, "host"};
  EXPECT_NO_THROW(admit_tasks(packs, host, quick_options(), {}));
  const OpenDevice gpu{nullptr, {task.pack()}, "cuda"};
  EXPECT_ERROR(admit_tasks(packs, gpu, quick_options(), {}), ErrorKind::bad_data,
               AllOf(HasSubstr("affine"), HasSubstr("tiny")));
}

TEST(AdmitTasks, DevicesThatMeasureHereAreAdmitted) {
  for (const char* name : {"host", "cuda", "cuda:1", "host,host", "cuda:0,cuda:1"}) {
    EXPECT_TRUE(measures_here(name)) << name;
  }
  for (const char* name : {"fake", "replay:store.h5", "http://127.0.0.1:1", "host,fake"}) {
    EXPECT_FALSE(measures_here(name)) << name;
  }
  EXPECT_TRUE(measures_anew("host,http://127.0.0.1:1"));
}

TEST(LocalDevices, RecordingsConfirmNoWinners) {
  const TempFolder folder;
  const std::string out = folder / "out.h5";
  for (const char* device : {"fake", "replay:store.h5", "http://127.0.0.1:1,replay:store.h5"}) {
    const ProgramResult result =
        run_program({"measure", {"label", "--device", device, "--confirm", "3", "--out", out}});
    EXPECT_EQ(result.exit_code, 2) << device;
    EXPECT_THAT(result.err, AllOf(HasSubstr("--confirm"), HasSubstr(device)));
  }
  EXPECT_FALSE(std::filesystem::exists(out));
}

// What a wrong candidate is told is a number that follows from its inputs.
std::string complaint(Measurer& measurer, const TaskPack& pack) {
  const MeasureRequest request{&pack, candidate_of(replaced(kHonestSource, "2.0f * x[i] + 1.0f", "0"))};
  const Measurement result = measurer.measure(std::span(&request, 1), {}, {}).at(0);
  EXPECT_EQ(name_of(result.status), "incorrect");
  return result.log;
}

TEST(LocalDevices, NoTwoRunsHaveTheSameInputs) {
  const TaskFiles files;
  const TaskPack pack = load_task_pack(files.path());
  const auto of_seed = [&](std::uint64_t seed) { return complaint(*make_host_measurer(quick_options(), seed), pack); };
  EXPECT_EQ(of_seed(1), of_seed(1)) << "who knows the seed knows the inputs";
  DeviceOptions options;
  options.host = quick_options();
  const auto of_run = [&] { return complaint(*make_device("host", options), pack); };
  EXPECT_NE(of_run(), of_run());
}

}  // namespace
}  // namespace kc::test
