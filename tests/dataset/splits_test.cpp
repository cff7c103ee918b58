#include "dataset/splits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include <fmt/format.h>

#include "base/error.h"
#include "tests/dataset/examples.h"

namespace kc {
namespace {

using examples::measurement;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::map<Part, int> counts(const std::vector<Part>& parts) {
  std::map<Part, int> result;
  for (const Part part : parts) ++result[part];
  return result;
}

// The same `kernels` texts on every device.
Store on_devices(const std::vector<std::string>& devices, int kernels) {
  Store store;
  for (const std::string& device : devices) {
    for (int k = 0; k < kernels; ++k) {
      store.measurements.push_back(measurement("task", fmt::format("void f{}();", k), 0.1 * k));
      store.measurements.back().provenance.device = device;
    }
  }
  return store;
}

TEST(Splits, FollowTheFractions) {
  const Store store = examples::spread_store(10, 300);
  const auto n = counts(assign_parts(store, {.validation_fraction = 0.1, .test_fraction = 0.2}));
  EXPECT_NEAR(n.at(Part::validation), 300, 60);
  EXPECT_NEAR(n.at(Part::kernels), 600, 80);
  EXPECT_EQ(n.at(Part::train), 3000 - n.at(Part::validation) - n.at(Part::kernels));
}

TEST(Splits, AddingRowsMovesNoOtherRow) {
  const Store few = examples::spread_store(2, 40);
  Store many = few;
  for (const Measurement& m : examples::spread_store(5, 40).measurements) many.measurements.push_back(m);
  const auto before = assign_parts(few, {});
  auto after = assign_parts(many, {});
  after.resize(before.size());
  EXPECT_EQ(before, after);
}

TEST(Splits, AnotherSeedGivesAnotherSplit) {
  const Store store = examples::spread_store(2, 100);
  EXPECT_EQ(assign_parts(store, {.seed = 1}), assign_parts(store, {.seed = 1}));
  EXPECT_NE(assign_parts(store, {.seed = 1}), assign_parts(store, {.seed = 2}));
}

TEST(Splits, KernelsThatDifferInCommentsAndBlanksOnlyStayTogether) {
  Store store;
  for (int i = 0; i < 200; ++i) {
    store.measurements.push_back(measurement("task", fmt::format("int f{}() {{ return 1; }}", i), 0));
    store.measurements.push_back(measurement("task", fmt::format("// twin\nint  f{}() {{\n  return 1; }}", i), 0));
  }
  const auto parts = assign_parts(store, {.test_fraction = 0.4});
  for (std::size_t i = 0; i < parts.size(); i += 2) EXPECT_EQ(parts[i], parts[i + 1]) << i;
  EXPECT_THAT(find_leaks(store, parts), IsEmpty());
}

TEST(Splits, InstancesOfOneTemplateAreKernelsOfTheirOwn) {
  Store store;
  for (int i = 0; i < 200; ++i) {
    store.measurements.push_back(measurement("task", "int f() { return TILE; }", 0));
    store.measurements.back().kernel.parameters = {{"TILE", std::to_string(i)}};
  }
  EXPECT_THAT(counts(assign_parts(store, {.test_fraction = 0.5})), SizeIs(3));
}

TEST(Splits, HeldOutTaskMakesItsOwnPart) {
  const Store store = examples::spread_store(3, 20);
  const auto parts = assign_parts(store, {.held_out_tasks = {"task1"}});
  for (std::size_t i = 0; i < parts.size(); ++i) {
    EXPECT_EQ(parts[i] == Part::task, store.measurements[i].task == "task1") << i;
  }
}

TEST(Splits, HeldOutDeviceKeepsOnlyKernelsUnknownFromOthers) {
  Store store = on_devices({"A", "B"}, 200);
  store.measurements.push_back(measurement("task", "int only_on_b();", 0));
  store.measurements.back().provenance.device = "B";
  const SplitOptions options{.test_fraction = 0.3, .held_out_devices = {"B"}};
  const auto parts = assign_parts(store, options);
  EXPECT_THAT(find_leaks(store, parts), IsEmpty());
  EXPECT_EQ(parts.back(), Part::device);
  for (std::size_t i = 0; i < 200; ++i) {
    EXPECT_EQ(parts[200 + i], parts[i] == Part::kernels ? Part::device : Part::unused) << i;
  }
}

TEST(Splits, HeldOutDeviceMayKeepKnownKernelsOnRequest) {
  const Store store = on_devices({"A", "B"}, 50);
  const auto parts = assign_parts(store, {.held_out_devices = {"B"}, .device_new_kernels = false});
  for (std::size_t i = 50; i < 100; ++i) EXPECT_EQ(parts[i], Part::device);
  EXPECT_THAT(find_leaks(store, parts), SizeIs(counts(parts)[Part::train] + counts(parts)[Part::validation]));
  EXPECT_THAT(find_leaks(store, parts, true), IsEmpty());
}

TEST(Splits, AHeldOutTaskLosesRowsWhoseTextTrainsElsewhere) {
  Store store;
  for (int i = 0; i < 50; ++i) {
    store.measurements.push_back(measurement("known", fmt::format("void f{}();", i), 0));
    store.measurements.push_back(measurement("held", fmt::format("void f{}();", i), 0));
  }
  const auto parts = assign_parts(store, {.held_out_tasks = {"held"}});
  EXPECT_THAT(find_leaks(store, parts), IsEmpty());
  EXPECT_GT(counts(parts)[Part::unused], 30);
}

TEST(Splits, TheCheckFindsAPlantedLeak) {
  Store store;
  store.measurements = {measurement("task", "int f();", 0), measurement("task", "/* x */ int   f();", 0)};
  const auto leaks = find_leaks(store, {Part::train, Part::kernels});
  ASSERT_THAT(leaks, SizeIs(1));
  EXPECT_THAT(leaks[0], HasSubstr("train and in kernels"));
  EXPECT_THAT(find_leaks(store, {Part::kernels, Part::device}), IsEmpty());
  EXPECT_THAT(find_leaks(store, {Part::train, Part::unused}), IsEmpty());
}

TEST(Splits, UnselectedRowsAreUnused) {
  const Store store = examples::spread_store(3, 10);
  const auto parts = assign_parts(store, {.tasks = {"task0"}});
  EXPECT_EQ(counts(parts)[Part::unused], 20);
}

TEST(Splits, UnknownNamesAreRefusedWithTheNearest) {
  try {
    assign_parts(examples::spread_store(3, 10), {.held_out_tasks = {"tsak1"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config);
    EXPECT_THAT(error.what(), HasSubstr("did you mean 'task1'"));
  }
}

TEST(Splits, NamesOfPartsGoBothWays) {
  for (const Part part : {Part::train, Part::validation, Part::kernels, Part::task, Part::device, Part::unused}) {
    EXPECT_EQ(part_of(name_of(part)), part);
  }
  EXPECT_THROW(part_of("test"), Error);
}

}  // namespace
}  // namespace kc
