#include "pipeline/devices.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include "dataset/label_store.h"
#include "pipeline/labelling.h"
#include "tests/measure/fake_task.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

TEST(DeviceNames, UnknownOnesAreRefusedWithASuggestion) {
  EXPECT_ERROR(make_device("hots", {}), ErrorKind::usage, HasSubstr("did you mean 'host'"));
  EXPECT_ERROR(make_device("", {}), ErrorKind::usage, HasSubstr("expected host"));
  EXPECT_ERROR(make_device("fake,", {}), ErrorKind::usage, HasSubstr("expected host"));
  EXPECT_ERROR(make_device("cuda:x", {}), ErrorKind::usage, HasSubstr("cuda:N"));
  EXPECT_EQ(cuda_index("cuda:3"), 3);
  EXPECT_EQ(cuda_index("host"), std::nullopt);
  EXPECT_ERROR(make_device("http://nowhere", {}), ErrorKind::usage, HasSubstr("http://HOST:PORT"));
  EXPECT_ERROR(make_device("replay:no-such.h5", {}), ErrorKind::bad_data, HasSubstr("no-such.h5"));
}

TEST(DeviceNames, KindsAreThoseOfTaskPacks) {
  EXPECT_EQ(kind_of_device("fake", *make_device("fake", {})), "host");
  EXPECT_EQ(kind_of_device("fake,fake", *make_device("fake,fake", {})), "host");
  EXPECT_EQ(kind_of_device("cuda:1", *make_device("fake", {})), "cuda");
}

TEST(DeviceNames, AReplayIsARecordingAndItsKind) {
  const TempFolder folder;
  const TaskPack task = fake_task();
  Store store;
  store.measurements = make_fake_measurer()->measure(fake_requests(task, 2), {}, {});
  write_store(folder / "labels.h5", store);
  const auto replay = make_device("replay:" + (folder / "labels.h5").string(), {});
  EXPECT_EQ(replay->measure(fake_requests(task, 2), {}, {})[1].provenance.run_id,
            store.measurements[1].provenance.run_id);
  EXPECT_EQ(replay->kind(), "host");
  EXPECT_ERROR(make_device("replay:" + (folder / "labels.h5").string() + "#other", {}), ErrorKind::bad_data,
               HasSubstr("other"));
}

TEST(DeviceNames, StoredLabelsAreReusedWhereTheyAreAsked) {
  const TempFolder folder;
  const TaskPack task = fake_task();
  auto requests = fake_requests(task, 2);
  requests.push_back({&task, {"seed.cpp", task.seed, true, ""}});
  Store store;
  store.measurements = make_fake_measurer()->measure(requests, {}, {});
  write_store(folder / "labels.h5", store);
  const std::string run = store.measurements[0].provenance.run_id;
  DeviceOptions options;
  EXPECT_NE(make_device("fake", options)->measure(requests, {}, {})[0].provenance.run_id, run);
  options.known = folder / "labels.h5";
  EXPECT_EQ(make_device("fake", options)->measure(requests, {}, {})[0].provenance.run_id, run);
  options.known = folder / "absent.h5";
  EXPECT_NO_THROW(make_device("fake", options));
}

TEST(DeviceNames, ABudgetEndsALabellingEarlyAndKeepsItsLabels) {
  const TempFolder folder;
  const std::vector<TaskPack> tasks = {[] {
    TaskPack pack = fake_task();
    pack.sources = {{"k.cpp", "text", {{"A", {"1", "2", "3", "4", "5", "6"}}}, {}, 0, ""}};
    return pack;
  }()};
  DeviceOptions options;
  options.budget.candidates = 4;
  const auto device = make_device("fake", options);
  const LabelReport report = label_tasks(tasks, *device, folder / "out.h5", {}, {});
  EXPECT_EQ(report.measured, 4);
  EXPECT_THAT(report.ended_early, HasSubstr("4 candidates"));
  EXPECT_EQ(read_store(folder / "out.h5").measurements.size(), 4U);
}

TEST(RemoteToken, ComesFromTheFileOrTheEnvironment) {
  const TempFolder folder;
  const auto file = folder.write("token", "from the token file\n");
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  ::setenv("KERNELCAST_TOKEN", "from the environment", 1);
  EXPECT_EQ(remote_token(file.string()), "from the token file");
  EXPECT_EQ(remote_token(""), "from the environment");
  ::unsetenv("KERNELCAST_TOKEN");
  EXPECT_EQ(remote_token(""), "");
}

}  // namespace
}  // namespace kc::test
