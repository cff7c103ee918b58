// Devices that this machine's programs measure on: their tasks are admitted, their inputs are secret.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "measure/fake_device.h"
#include "measure/replay_device.h"
#include "pipeline/measure_setup.h"
#include "tests/cuda/cuda_task.h"
#include "tests/serve/served_task.h"
#include "tests/support/expect_error.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kSoftmax = KC_SOURCE_DIR "/tasks/softmax";

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

// A server may play a recording, which nobody sees before it answers.
TEST(LocalDevices, WhatWasLabelledIsReportedThoughConfirmingFails) {
  const TaskPack pack = pack_for_device(load_task_pack(kSoftmax), "host");
  std::vector<MeasureRequest> requests;
  for (Candidate& candidate : list_candidates(pack)) requests.push_back({&pack, std::move(candidate)});
  const auto recording = make_replay_measurer(make_fake_measurer()->measure(requests, {}, {}), "recording.h5");
  const RunningServer server(*recording, {pack});
  const TempFolder folder;
  const std::string token = folder.write("token", kToken);
  std::filesystem::permissions(token, std::filesystem::perms::owner_read);
  const ProgramResult result =
      run_program({"measure",
                   {"label", "--device", server.url(), "--token-file", token, "--tasks", kSoftmax, "--limit", "9",
                    "--out", folder / "out.h5", "--confirm", "2", "--json"}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("plays a recording"));
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["measured"], 9);
  EXPECT_THAT(report["confirming_failed"].get<std::string>(), HasSubstr("plays a recording"));
}

TEST(LocalDevices, AStoreToReuseMustBeThere) {
  const TempFolder folder;
  const ProgramResult result = run_program({"measure",
                                            {"label", "--device", "fake", "--tasks", kSoftmax, "--reuse",
                                             folder / "absent.h5", "--out", folder / "out.h5"}});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--reuse"), HasSubstr("absent.h5")));
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
