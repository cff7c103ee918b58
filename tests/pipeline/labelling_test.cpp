// Measuring and storing together: nothing is measured twice, nothing measured is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <stop_token>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "dataset/compare.h"
#include "forecast/bins.h"
#include "measure/fake_device.h"
#include "pipeline/labelling.h"
#include "tests/support/expect_error.h"
#include "tests/support/synthetic_store.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

// Gives every candidate the status that its task declares; asks for a stop after `stop_after` results.
class FakeMeasurer : public Measurer {
 public:
  std::vector<Measurement> measure(std::span<const MeasureRequest> requests,
                                   const std::function<void(std::size_t, const Measurement&)>& on_result,
                                   std::stop_token stop) override {
    std::vector<Measurement> results;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      if (stop.stop_requested()) throw Error(ErrorKind::interrupted, "stopped");
      results.push_back(result_of(requests[i]));
      asked_afresh += requests[i].fresh ? 1 : 0;
      on_result(i, results.back());
      if (++measured == stop_after) source.request_stop();
    }
    return results;
  }
  Provenance provenance(const TaskPack&) const override {
    Provenance p;
    p.run_id = "fake";
    p.device = "AMD EPYC";
    p.compiler = "none";
    p.harness_version = harness;
    p.started_at = "2026-01-01T00:00:00Z";
    return p;
  }

  int measured = 0;
  int asked_afresh = 0;
  int stop_after = -1;
  std::string harness = "fake-1";
  std::stop_source source;

 private:
  Measurement result_of(const MeasureRequest& request) const {
    Measurement m;
    m.task = request.task->name;
    m.kernel = request.candidate.kernel;
    m.kernel_name = request.candidate.name;
    m.provenance = provenance(*request.task);
    if (!request.candidate.expect.empty()) {
      m.status = measurement_status_of(request.candidate.expect);
    } else {
      m.cases = {{"only", 1, {2.0F, 2.0F}, {1.0F, 1.0F}}};
    }
    return m;
  }
};

Measurement timed(const std::string& task, const std::string& name, float candidate_ns) {
  Measurement m;
  m.task = task;
  m.kernel_name = name;
  m.cases = {{"only", 1, {candidate_ns, candidate_ns, candidate_ns}, {1000, 1000, 1000}}};
  m.facts = {{"log2_low", 1}, {"log2_high", 3}};
  return m;
}

TEST(FastestKernels, KeepsTenOfEachTaskTheFastestFirst) {
  FastestKernels fastest;
  for (int i = 0; i < 30; ++i) {
    const int speed = 1 + i * 7 % 30;
    fastest.add(timed("matmul", fmt::format("k{}", speed), 1000.0F / static_cast<float>(speed)), false);
  }
  fastest.add(timed("softmax", "only.cpp", 250), false);
  const nlohmann::json json = fastest.json();
  ASSERT_EQ(json["matmul"].size(), 10);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(json["matmul"][i]["kernel"], fmt::format("k{}", 30 - i));
    EXPECT_NEAR(json["matmul"][i]["speedup"].get<double>(), 30.0 - static_cast<double>(i), 1e-4);
  }
  EXPECT_EQ(json["softmax"][0], (nlohmann::json{{"kernel", "only.cpp"},
                                                {"speedup", 4.0},
                                                {"low", 2.0},
                                                {"high", 8.0},
                                                {"bin", 7},
                                                {"bin_name", std::string(bin_name(7))}}));
  EXPECT_THAT(fastest.table(), ::testing::AllOf(::testing::HasSubstr("only.cpp"), ::testing::HasSubstr("4 [2, 8]"),
                                                ::testing::HasSubstr(std::string(bin_name(7)))));
}

TEST(FastestKernels, PassesOverTheSeedFailuresAndTimesThatAreNone) {
  FastestKernels fastest;
  fastest.add(timed("matmul", "seed", 1000), true);
  Measurement failed = timed("matmul", "failed", 10);
  failed.status = MeasurementStatus::incorrect;
  fastest.add(failed, false);
  Measurement alone = timed("matmul", "alone", 10);
  alone.cases.front().reference_ns.clear();
  fastest.add(alone, false);
  fastest.add(timed("matmul", "odd", NAN), false);
  Measurement empty = timed("matmul", "empty", 10);
  empty.cases.clear();
  fastest.add(empty, false);
  EXPECT_TRUE(fastest.empty());
  EXPECT_EQ(fastest.json().dump(), "{}");
}

class Labelling : public ::testing::Test {
 protected:
  Labelling() {
    folder_.write("task/reference.cpp", "extern \"C\" void reference() {}\n");
    folder_.write("task/k.cpp", "// WIDTH\n");
    folder_.write("task/wrong.cpp", "// wrong\n");
    folder_.write("task/task.yaml",
                  "name: task\ntitle: a task\nsizes: [N]\ncases:\n  - {name: only, sizes: {N: 4}}\n"
                  "inputs:\n  - {name: x, dtype: f32, shape: \"N\", generator: {kind: normal}}\n"
                  "outputs:\n  - {name: y, dtype: f32, shape: \"N\"}\n"
                  "tolerance: {relative: 1.0e-6, absolute: 0.0, reason: exact}\n"
                  "reference: reference.cpp\nseed: {source: k.cpp, set: {WIDTH: 1}}\ncandidates:\n"
                  "  - {source: k.cpp, tunables: {WIDTH: [1, 2, 3, 4, 5, 6]}}\n"
                  "  - {source: wrong.cpp, expect: incorrect}\n"
                  "compiler: {flags: [-O1]}\nthreads: 1\nwork: \"N\"\n");
    tasks_.push_back(load_task_pack(folder_ / "task"));
  }
  LabelReport label(FakeMeasurer& measurer, const LabelOptions& options = {}) {
    return label_tasks(tasks_, measurer, folder_ / "out.h5", options, measurer.source.get_token());
  }
  TempFolder folder_;
  std::vector<TaskPack> tasks_;
};

TEST_F(Labelling, StoresEveryCandidateOnce) {
  FakeMeasurer measurer;
  const LabelReport report = label(measurer);
  EXPECT_EQ(report.measured, 7);
  EXPECT_EQ(report.by_status[static_cast<std::size_t>(MeasurementStatus::incorrect)], 1);
  EXPECT_TRUE(report.unexpected.empty());
  EXPECT_EQ(report.fastest.json()["task"].size(), 5);  // of six that are right one is the seed
  EXPECT_EQ(read_store(folder_ / "out.h5").measurements.size(), 7U);

  FakeMeasurer second;
  EXPECT_EQ(label(second).already_stored, 7);
  EXPECT_EQ(second.measured, 0);
}

TEST_F(Labelling, AStoppedRunKeepsItsLabelsAndGoesOn) {
  FakeMeasurer measurer;
  measurer.stop_after = 3;
  EXPECT_ERROR(label(measurer), ErrorKind::interrupted, ::testing::_);
  EXPECT_EQ(read_store(folder_ / "out.h5").measurements.size(), 3U);

  FakeMeasurer rest;
  const LabelReport report = label(rest);
  EXPECT_EQ(report.already_stored, 3);
  EXPECT_EQ(report.measured, 4);
  EXPECT_EQ(read_store(folder_ / "out.h5").measurements.size(), 7U);
}

TEST_F(Labelling, AnotherHarnessVersionMeasuresAgain) {
  FakeMeasurer measurer;
  label(measurer);
  FakeMeasurer newer;
  newer.harness = "fake-2";
  EXPECT_EQ(label(newer).measured, 7);
}

TEST_F(Labelling, AChangedTaskIsMeasuredAgainANewCandidateOfItAlone) {
  const auto device = make_fake_measurer();
  const auto measured = [&] { return label_tasks(tasks_, *device, folder_ / "out.h5", {}, {}).measured; };
  EXPECT_EQ(measured(), 7);
  tasks_[0].sources.front().tunables.front().second.push_back("7");
  EXPECT_EQ(measured(), 1);
  tasks_[0].cases.front().sizes["N"] = 5;
  EXPECT_EQ(measured(), 8);
  EXPECT_EQ(measured(), 0);
}

TEST_F(Labelling, MeasuringAgainIsPastEveryCache) {
  FakeMeasurer measurer;
  label(measurer);
  EXPECT_EQ(measurer.asked_afresh, 0);
  label(measurer, {.measure_again = true});
  EXPECT_EQ(measurer.measured, 14);
  EXPECT_EQ(measurer.asked_afresh, 7);
}

TEST_F(Labelling, ALimitDrawsTheSameCandidatesAndKeepsTheSeed) {
  FakeMeasurer measurer;
  EXPECT_EQ(label(measurer, {.limit_per_task = 3, .seed = 5}).measured, 3);
  FakeMeasurer again;
  EXPECT_EQ(label(again, {.limit_per_task = 3, .seed = 5}).already_stored, 3);
  EXPECT_EQ(read_store(folder_ / "out.h5").measurements.front().kernel.parameters, (Parameters{{"WIDTH", "1"}}));
}

TEST_F(Labelling, LibraryBaselinesOfAGpuAreMeasuredWhateverTheLimit) {
  const TaskPack matmul = load_task_pack(std::filesystem::path(KC_SOURCE_DIR) / "tasks/matmul");
  const auto names = [&](const std::string& device) {
    tasks_ = {pack_for_device(matmul, device)};
    FakeMeasurer measurer;
    measurer.harness = "fake " + device;
    label(measurer, {.limit_per_task = 1});
    std::vector<std::string> stored;
    for (const Measurement& m : read_store(folder_ / "out.h5").measurements) {
      if (m.provenance.harness_version == measurer.harness) stored.push_back(m.kernel_name);
    }
    return stored;
  };
  EXPECT_THAT(names("host"), ::testing::SizeIs(1));
  EXPECT_THAT(names("cuda"), ::testing::ElementsAre(matmul.cuda->seed_name, "cublas"));
}

TEST_F(Labelling, AnUnexpectedStatusIsReportedByName) {
  tasks_.front() = load_task_pack(folder_ / "task");
  folder_.write("task/wrong.cpp", "// wrong\n");
  class Lenient : public FakeMeasurer {
   public:
    std::vector<Measurement> measure(std::span<const MeasureRequest> requests,
                                     const std::function<void(std::size_t, const Measurement&)>& on_result,
                                     std::stop_token stop) override {
      std::vector<MeasureRequest> all(requests.begin(), requests.end());
      for (MeasureRequest& request : all) request.candidate.expect.clear();
      return FakeMeasurer::measure(all, on_result, stop);
    }
  } lenient;
  const LabelReport report = label(lenient);
  ASSERT_EQ(report.unexpected.size(), 1U);
  EXPECT_THAT(report.unexpected.front(), ::testing::HasSubstr("wrong.cpp"));
}

TEST(CompareLabellings, FindsWhatChangedAndWhetherNoiseExplainsIt) {
  const Store first = synthetic_store(3);
  const LabellingComparison same = compare_labellings(first, first, {50}, RngStream(std::uint64_t{1}));
  EXPECT_EQ(same.same_bin, static_cast<std::int64_t>(first.measurements.size()));
  EXPECT_EQ(same.overlapping, same.same_bin);

  Store second = first;
  for (float& ns : second.measurements.front().cases.front().candidate_ns) ns *= 8;
  second.measurements.back().status = MeasurementStatus::timeout;
  const LabellingComparison changed = compare_labellings(first, second, {50}, RngStream(std::uint64_t{1}));
  EXPECT_EQ(changed.status_changed, 1);
  EXPECT_EQ(changed.same_bin, same.same_bin - 2);
  EXPECT_EQ(changed.overlapping, same.overlapping - 2);
}

TEST(CompareLabellings, LabelsOfTwoDevicesAreComparedOnRequestOnly) {
  const Store first = synthetic_store(3);
  Store second = first;
  for (Measurement& m : second.measurements) m.provenance.device = "another";
  const RngStream rng(std::uint64_t{1});
  EXPECT_TRUE(compare_labellings(first, second, {50}, rng).labels.empty());
  EXPECT_EQ(compare_labellings(first, second, {50, true}, rng).labels.size(), first.measurements.size());
  second.measurements.front().provenance.device = "a third";
  EXPECT_THROW(compare_labellings(first, second, {50, true}, rng), Error);
}

TEST(CompareLabellings, TakesTheIntervalOfALabelThatHasOne) {
  Store store = synthetic_store(3);
  for (Measurement& m : store.measurements) {
    m.facts["log2_low"] = -5;
    m.facts["log2_high"] = 5;
  }
  const LabellingComparison wide = compare_labellings(store, store, {50}, RngStream(std::uint64_t{1}));
  EXPECT_EQ(wide.labels.front().low_a, -5);
  EXPECT_EQ(wide.clear, 0);
}

}  // namespace
}  // namespace kc::test
