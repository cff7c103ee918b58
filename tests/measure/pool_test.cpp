// Devices side by side: who takes what, and what becomes of those that break.
#include <gmock/gmock.h>

#include <set>

#include "measure/pool.h"
#include "tests/measure/fake_task.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

class Pool : public ::testing::Test {
 protected:
  TaskPack task_ = fake_task();
};

std::vector<PooledDevice> pool_of(const std::vector<FakeOptions>& all) {
  std::vector<PooledDevice> devices;
  for (const FakeOptions& options : all) {
    devices.push_back({"device " + std::to_string(devices.size()), make_fake_measurer(options)});
  }
  return devices;
}

TEST_F(Pool, APoolSharesTheWorkAndKeepsTheOrder) {
  FakeOptions slow;
  slow.seconds_per_candidate = 0.005;
  const auto requests = fake_requests(task_, 100);
  const auto expected = make_fake_measurer()->measure(requests, {}, {});
  const auto pool = make_pool(pool_of({slow, slow, slow}));
  std::set<std::size_t> reported;
  const auto results = pool->measure(requests, [&](std::size_t i, const Measurement&) { reported.insert(i); }, {});
  std::set<std::string> runs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].kernel.source, requests[i].candidate.kernel.source);
    EXPECT_EQ(log2_speedup_scalar(results[i]), log2_speedup_scalar(expected[i]));
    runs.insert(results[i].provenance.run_id);
  }
  EXPECT_EQ(reported.size(), 100U);
  EXPECT_EQ(runs.size(), 3U) << "every device had a share";
}

TEST_F(Pool, APoolOfUnlikeDevicesIsRefused) {
  FakeOptions other;
  other.device = "other";
  EXPECT_ERROR(make_pool(pool_of({{}, other}))->provenance(task_), ErrorKind::usage, HasSubstr("not alike"));
}

// Out of reach from the start, as a server that is not there.
class Unreachable : public Measurer {
 public:
  std::vector<Measurement> measure(std::span<const MeasureRequest>, const OnResult&, std::stop_token) override {
    throw Error(ErrorKind::environment, "out of reach");
  }
  std::string kind() const override { throw Error(ErrorKind::environment, "out of reach"); }
  Provenance provenance(const TaskPack&) const override { throw Error(ErrorKind::environment, "out of reach"); }
};

TEST_F(Pool, APoolAsksThoseThatAreThere) {
  std::vector<PooledDevice> devices;
  devices.push_back({"gone", std::make_unique<Unreachable>()});
  devices.push_back({"there", make_fake_measurer()});
  const auto pool = make_pool(std::move(devices));
  EXPECT_EQ(pool->kind(), "host");
  EXPECT_EQ(pool->provenance(task_).device, "fake");
  EXPECT_EQ(pool->measure(fake_requests(task_, 20), {}, {}).size(), 20U);
  std::vector<PooledDevice> none;
  none.push_back({"gone", std::make_unique<Unreachable>()});
  none.push_back({"gone, too", std::make_unique<Unreachable>()});
  const auto empty = make_pool(std::move(none));
  for (int i = 0; i < 2; ++i) {
    EXPECT_ERROR(empty->provenance(task_), ErrorKind::environment, HasSubstr("out of reach"));
    EXPECT_ERROR(empty->kind(), ErrorKind::environment, HasSubstr("out of reach"));
  }
}

FakeOptions breaking_after(int& left, ErrorKind kind) {
  FakeOptions options;
  options.script = [&left, kind](const MeasureRequest&) {
    if (left-- == 0) throw Error(kind, "the line is cut");
    return Measurement{};
  };
  return options;
}

TEST_F(Pool, ABrokenDevicesCandidatesGoToTheOthers) {
  int left = 5;
  FakeOptions slow;
  slow.seconds_per_candidate = 0.002;
  const auto pool = make_pool(pool_of({breaking_after(left, ErrorKind::environment), slow}));
  const auto requests = fake_requests(task_, 64);
  int reported = 0;
  const auto results = pool->measure(requests, [&](auto, auto&) { ++reported; }, {});
  EXPECT_EQ(reported, 64);
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].kernel_name, requests[i].candidate.name);
}

TEST_F(Pool, APoolThrowsWhenNoDeviceIsLeftAndForFaultsOfTheTask) {
  int left = 0;
  EXPECT_ERROR(
      make_pool(pool_of({breaking_after(left, ErrorKind::environment)}))->measure(fake_requests(task_, 4), {}, {}),
      ErrorKind::environment, HasSubstr("the line is cut"));
  left = 0;
  FakeOptions slow;
  slow.seconds_per_candidate = 0.01;
  EXPECT_ERROR(make_pool(pool_of({slow, breaking_after(left, ErrorKind::bad_data)}))
                   ->measure(fake_requests(task_, 1000), {}, {}),
               ErrorKind::bad_data, HasSubstr("the line is cut"));
}

}  // namespace
}  // namespace kc::test
