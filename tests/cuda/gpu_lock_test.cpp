// What is done at the same time: other GPUs are timed, and the next candidates compiled. Two scripted GPUs.
#include "cuda/gpu_lock.h"

#include <gmock/gmock.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "tests/cuda/scripted_candidates.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using namespace std::chrono_literals;
using ::testing::_;

TEST(GpuLock, HoldsOneDeviceAndNoOther) {
  const std::string own = "lock " + std::to_string(getpid());
  std::stop_source impatient;
  impatient.request_stop();
  {
    const GpuLock first(own, {});
    const GpuLock other(own + " other", impatient.get_token());
    EXPECT_ERROR(GpuLock(own, impatient.get_token()), ErrorKind::interrupted, _);
  }
  const GpuLock again(own, impatient.get_token());
}

// Two threads that are timed: who is where, and whether they met.
class Meeting {
 public:
  explicit Meeting(std::chrono::milliseconds patience) : patience_(patience) {}

  void enter(const std::string& name) {
    std::unique_lock lock(mutex_);
    if (last_ != name) ++changes_;
    last_ = name;
    if (there_.insert(name).second) {
      changed_.notify_all();
      if (changed_.wait_for(lock, patience_, [&] { return there_.size() == 2; })) ++met_;
    }
  }
  int met() const { return met_; }
  int changes() const { return changes_; }

 private:
  std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> there_;
  std::string last_;
  int changes_ = 0;
  int met_ = 0;
};

class SideBySide : public ScriptedGpu {
 protected:
  // Labels a candidate on a GPU of this name and id, as a program of its own would.
  void measure_on(const std::string& name, const std::string& uuid, Meeting& meeting) const {
    FakeWorld world;
    world.kernels["run"] = [&](FakeLaunch& launch) {
      meeting.enter(name);
      affine(launch, launch.sizes[0]);
      launch.ns = 20000;
    };
    CudaBackend backend = fake_backend(world);
    backend.description.uuid += uuid;
    const MeasureRequest request{&task_.pack(), {"k.cu", {"cuda", "id", text_of("run"), {}}, false, ""}};
    const auto measurer = make_cuda_measurer(options_, 12345, std::move(backend));
    const Measurement result = measurer->measure(std::span(&request, 1), {}, {}).at(0);
    EXPECT_EQ(result.status, MeasurementStatus::ok) << result.log;
  }

  // Compilations that are finished when the first of two tasks' candidates has run, with so many cores: waits for
  // `wanted` of them.
  std::size_t compiled_beside_the_first(int cores, std::size_t wanted, std::chrono::seconds patience) {
    const TempFolder cache;
    const auto count = [&] {
      std::size_t files = 0;
      for (const auto& entry : std::filesystem::recursive_directory_iterator(cache.path())) {
        const std::string folder = entry.path().parent_path().filename().string();
        files += entry.path().filename().string().starts_with(folder) ? 1 : 0;  // as entries of the cache are named
      }
      return files;
    };
    std::size_t seen = 0;
    world_.kernels["first"] = [&](FakeLaunch& launch) {
      affine(launch, launch.sizes[0]);
      const auto deadline = std::chrono::steady_clock::now() + patience;
      while ((seen = count()) < wanted && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
    };
    world_.kernels["second"] = world_.kernels["run"];
    options_.host.cores = cores;
    options_.compile.cache = cache.path();
    const CudaTask other;
    const std::vector<MeasureRequest> requests = {
        {&task_.pack(), {"k.cu", {"cuda", "id", text_of("first"), {}}, false, ""}},
        {&other.pack(), {"k.cu", {"cuda", "id", text_of("second"), {}}, false, ""}}};
    const auto measurer = make_cuda_measurer(options_, 12345, fake_backend(world_));
    for (const Measurement& result : measurer->measure(requests, {}, {})) {
      EXPECT_EQ(result.status, MeasurementStatus::ok) << result.log;
    }
    EXPECT_EQ(count(), 4) << "our kernels, the seed of both, and the candidates";
    return seen;
  }
};

TEST_F(SideBySide, TwoGpusAreTimedAtTheSameTime) {
  Meeting meeting(30s);
  std::jthread left([&] { measure_on("left", "left", meeting); });
  measure_on("right", "right", meeting);
  left.join();
  EXPECT_EQ(meeting.met(), 2) << "each launched before the other had ended";
}

TEST_F(SideBySide, TwoProgramsTakeTurnsOnOneGpu) {
  Meeting meeting(300ms);
  std::jthread left([&] { measure_on("left", "same", meeting); });
  measure_on("right", "same", meeting);
  left.join();
  EXPECT_EQ(meeting.changes(), 2) << "all launches of one, then all of the other";
}

TEST_F(SideBySide, WithThreeCoresTheNextCandidatesAreCompiledMeanwhile) {
  EXPECT_EQ(compiled_beside_the_first(3, 4, 60s), 4);
}

TEST_F(SideBySide, WithTwoCoresTheyAreCompiledAfterwards) { EXPECT_EQ(compiled_beside_the_first(2, 4, 0s), 3); }

}  // namespace
}  // namespace kc::test
