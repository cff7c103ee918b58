#include "pipeline/confirming.h"

#include <gmock/gmock.h>

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dataset/label_store.h"
#include "measure/fake_device.h"
#include "measure/replay_device.h"
#include "measure/task_revision.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

// log2 S as asked, with an interval of 0.1 either way; what is asked is the number in the kernel's text.
Measurement timed(double log2) {
  Measurement label;
  label.cases = {{"only", 1, {1000}, {static_cast<float>(1000 * std::exp2(log2))}}};
  label.facts = {{"log2_low", log2 - 0.1}, {"log2_high", log2 + 0.1}};
  return label;
}

Measurement stored(const std::string& name, double log2, const std::string& device = "fake") {
  Measurement label = timed(log2);
  label.task = "task";
  label.kernel = {"cpp", name, "int " + name + ";\n", {}};
  label.kernel_name = name;
  label.provenance.device = device;
  label.provenance.harness_version = "fake-1";
  return label;
}

class Confirming : public ::testing::Test {
 protected:
  Confirming() { tasks_[0].name = "task"; }
  std::vector<ConfirmedKernel> confirm(std::size_t count,
                                       const std::function<Measurement(const MeasureRequest&)>& again) {
    write_store(file_, store_);
    FakeOptions options;
    options.script = again;
    return confirm_fastest(tasks_, *make_fake_measurer(options), file_, count, {});
  }
  TempFolder folder_;
  std::filesystem::path file_ = folder_ / "labels.h5";
  std::vector<TaskPack> tasks_ = std::vector<TaskPack>(1);
  Store store_;
};

TEST_F(Confirming, MeasuresTheFastestAgainAndOrdersThemByWhatComesOut) {
  for (int i = 0; i < 20; ++i) store_.measurements.push_back(stored(fmt::format("k{}", i), 0.1 * i));
  std::vector<std::string> asked;
  const auto kernels = confirm(3, [&](const MeasureRequest& request) {
    asked.push_back(request.candidate.name);
    return timed(request.candidate.name == "k19" ? 0.2 : 1.75);
  });
  EXPECT_THAT(asked, ElementsAre("k19", "k18", "k17"));
  ASSERT_EQ(kernels.size(), 3);
  EXPECT_EQ(kernels[2].name, "k19") << "the luckiest one falls behind";
  EXPECT_TRUE(kernels[2].is_lucky);
  EXPECT_FALSE(kernels[0].is_lucky);
  EXPECT_NEAR(kernels[2].first.value, 1.9, 1e-6);
  EXPECT_NEAR(kernels[2].again.value, 0.2, 1e-6);
  EXPECT_EQ(read_store(file_).measurements.size(), 20) << "the store stays as it is";
  EXPECT_THAT(confirmed_table(kernels), HasSubstr("was lucky"));
  EXPECT_EQ(to_json(kernels)["task"][2]["was_lucky"], true);
  EXPECT_NEAR(to_json(kernels)["task"][2]["again"]["speedup"].get<double>(), std::exp2(0.2), 1e-4);
}

TEST_F(Confirming, PassesOverTheSeedFailuresAndLabelsOfOtherDevices) {
  store_.measurements = {stored("here", 0.5), stored("elsewhere", 3, "another"), stored("seed", 3), stored("wrong", 3)};
  store_.measurements[2].is_seed = true;
  store_.measurements[3].status = MeasurementStatus::incorrect;
  const auto kernels = confirm(5, [](const MeasureRequest&) { return timed(0.5); });
  EXPECT_THAT(kernels, ElementsAre(Field(&ConfirmedKernel::name, "here")));
}

// A server may play a recording: that the label is the same to the nanosecond confirms nothing.
TEST_F(Confirming, ADeviceThatRepeatsTheStoredLabelIsAnError) {
  store_.measurements = {stored("k", 2)};
  write_store(file_, store_);
  const auto recording = make_replay_measurer(store_.measurements, "labels.h5", "");
  EXPECT_ERROR(confirm_fastest(tasks_, *recording, file_, 1, {}), ErrorKind::usage,
               AllOf(HasSubstr("recording"), HasSubstr("k")));
  // Measured twice, and the recording answers with the last of them, which was not the fastest.
  store_.measurements.push_back(stored("k", 1));
  write_store(file_, store_);
  const auto newer = make_replay_measurer(store_.measurements, "labels.h5", "");
  EXPECT_ERROR(confirm_fastest(tasks_, *newer, file_, 1, {}), ErrorKind::usage, HasSubstr("recording"));
}

TEST_F(Confirming, ASecondFailureIsNoRecording) {
  store_.measurements = {stored("k", 2), stored("k", 2)};
  store_.measurements[0].status = MeasurementStatus::timeout;
  store_.measurements[0].cases.clear();
  const auto device = make_fake_measurer({.script = [](const MeasureRequest&) {
    Measurement failed;
    failed.status = MeasurementStatus::timeout;
    return failed;
  }});
  store_.measurements[0].provenance = store_.measurements[1].provenance = device->provenance(tasks_[0]);
  write_store(file_, store_);
  const auto kernels = confirm_fastest(tasks_, *device, file_, 1, {});
  ASSERT_EQ(kernels.size(), 1);
  EXPECT_EQ(kernels[0].status, "timeout");
}

TEST_F(Confirming, PassesOverLabelsOfAnotherStateOfTheTask) {
  store_.measurements = {stored("before", 3), stored("now", 1)};
  store_.measurements[0].facts[kTaskRevision] = 1;
  store_.measurements[1].facts[kTaskRevision] = task_revision(tasks_[0]);
  EXPECT_THAT(confirm(5, [](const MeasureRequest&) { return timed(0.5); }),
              ElementsAre(Field(&ConfirmedKernel::name, "now")));
}

TEST_F(Confirming, AsksForNewLabels) {
  store_.measurements = {stored("k", 2)};
  bool fresh = false;
  confirm(1, [&](const MeasureRequest& request) {
    fresh = request.fresh;
    return timed(2);
  });
  EXPECT_TRUE(fresh);
}

TEST_F(Confirming, AKernelThatFailsTheSecondTimeSaysSo) {
  store_.measurements = {stored("flaky", 2)};
  const auto kernels = confirm(1, [](const MeasureRequest&) {
    Measurement failed;
    failed.status = MeasurementStatus::incorrect;
    return failed;
  });
  ASSERT_EQ(kernels.size(), 1);
  EXPECT_TRUE(kernels[0].is_lucky);
  EXPECT_THAT(confirmed_table(kernels), HasSubstr("incorrect"));
  EXPECT_FALSE(to_json(kernels)["task"][0].contains("again"));
}

}  // namespace
}  // namespace kc::test
