#include "measure/pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"

namespace kc {
namespace {

constexpr std::size_t kShare = 16;  // candidates that a device takes at a time: one session

// What the devices of one call of measure() share. Guarded by `mutex`.
struct Work {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::deque<std::vector<std::size_t>> shares;  // indices of requests of one task
  std::deque<std::pair<std::size_t, Measurement>> arrived;
  std::size_t unfinished = 0;       // requests without a result
  std::size_t working = 0;          // devices
  std::exception_ptr failure;       // ends everything
  std::exception_ptr last_failure;  // of one device
  std::stop_source stop;
};

std::deque<std::vector<std::size_t>> split(std::span<const MeasureRequest> requests) {
  std::deque<std::vector<std::size_t>> shares;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const bool fits =
        !shares.empty() && shares.back().size() < kShare && requests[shares.back().front()].task == requests[i].task;
    if (!fits) shares.emplace_back();
    shares.back().push_back(i);
  }
  return shares;
}

std::optional<std::vector<std::size_t>> take_share(Work& work) {
  std::unique_lock lock(work.mutex);
  work.changed.wait(lock, [&] { return !work.shares.empty() || work.unfinished == 0 || work.failure; });
  if (work.shares.empty() || work.failure) return std::nullopt;
  std::vector<std::size_t> share = std::move(work.shares.front());
  work.shares.pop_front();
  return share;
}

// Measures a share; what is left of it when the device breaks goes back. False when the device is to be left out.
bool measure_share(Work& work, PooledDevice& device, std::span<const MeasureRequest> requests,
                   std::vector<std::size_t> share) {
  std::vector<MeasureRequest> asked;
  for (const std::size_t i : share) asked.push_back(requests[i]);
  std::vector<bool> done(share.size(), false);
  try {
    device.measurer->measure(
        asked,
        [&](std::size_t at, const Measurement& measurement) {
          const std::lock_guard lock(work.mutex);
          done[at] = true;
          --work.unfinished;
          work.arrived.emplace_back(share[at], measurement);
          work.changed.notify_all();
        },
        work.stop.get_token());
    return true;
  } catch (const Error& error) {
    const std::lock_guard lock(work.mutex);
    work.changed.notify_all();
    work.last_failure = std::current_exception();
    if (error.kind() != ErrorKind::environment) {
      if (!work.failure) work.failure = work.last_failure;
      work.stop.request_stop();
      return false;
    }
    log::warning(fmt::format("device {} is left out, its candidates go to the others: {}", device.name, error.what()));
    std::vector<std::size_t> rest;
    for (std::size_t at = 0; at < share.size(); ++at) {
      if (!done[at]) rest.push_back(share[at]);
    }
    if (!rest.empty()) work.shares.push_front(std::move(rest));
    return false;
  }
}

class Pool : public Measurer {
 public:
  explicit Pool(std::vector<PooledDevice> devices) : devices_(std::move(devices)), broken_(devices_.size(), false) {}

  std::vector<Measurement> measure(std::span<const MeasureRequest> requests, const OnResult& on_result,
                                   std::stop_token stop) override {
    Work work;
    work.shares = split(requests);
    work.unfinished = requests.size();
    const std::stop_callback forward(stop, [&work] { work.stop.request_stop(); });
    std::vector<std::jthread> threads;
    work.working = static_cast<std::size_t>(std::count(broken_.begin(), broken_.end(), false));
    if (work.working == 0) throw Error(ErrorKind::environment, "no device of the pool is left");
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (!broken_[d]) threads.emplace_back([&, d] { serve(work, d, requests); });
    }
    std::vector<Measurement> results(requests.size());
    deliver(work, results, on_result);
    threads.clear();
    if (work.failure) std::rethrow_exception(work.failure);
    if (work.unfinished > 0) std::rethrow_exception(work.last_failure);
    return results;
  }

  std::string kind() const override {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (const auto kind = ask(d, [](const Measurer& device) { return device.kind(); })) return *kind;
    }
    throw Error(ErrorKind::environment, "no device of the pool is left");
  }

  Provenance provenance(const TaskPack& task) const override {
    const PooledDevice* first = nullptr;
    Provenance common;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const auto own = ask(d, [&](const Measurer& device) { return device.provenance(task); });
      if (!own) continue;
      if (!first) {
        first = &devices_[d];
        common = *own;
      }
      const bool same = own->device == common.device && own->compiler == common.compiler &&
                        own->compiler_flags == common.compiler_flags && own->harness_version == common.harness_version;
      if (same) continue;
      throw Error(ErrorKind::usage,
                  fmt::format("the devices {} and {} are not alike, so their times are not labels of one device: {} {} "
                              "{} against {} {} {}",
                              first->name, devices_[d].name, common.device, common.compiler, common.harness_version,
                              own->device, own->compiler, own->harness_version));
    }
    if (!first) throw Error(ErrorKind::environment, "no device of the pool is left");
    return common;
  }

 private:
  // Nothing from a device that breaks, now or before; the last one's failure is everybody's.
  template <class Question>
  std::optional<std::invoke_result_t<Question, const Measurer&>> ask(std::size_t d, const Question& question) const {
    if (broken_[d]) return std::nullopt;
    try {
      return question(*devices_[d].measurer);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::environment) throw;
      if (std::count(broken_.begin(), broken_.end(), false) == 1) throw;
      log::warning(fmt::format("device {} is left out: {}", devices_[d].name, error.what()));
      broken_[d] = true;
      return std::nullopt;
    }
  }

  void serve(Work& work, std::size_t d, std::span<const MeasureRequest> requests) {
    while (auto share = take_share(work)) {
      bool healthy = false;
      try {
        healthy = measure_share(work, devices_[d], requests, std::move(*share));
      } catch (...) {
        const std::lock_guard lock(work.mutex);
        if (!work.failure) work.failure = std::current_exception();
        work.stop.request_stop();
      }
      if (healthy) continue;
      const std::lock_guard lock(work.mutex);
      broken_[d] = !work.failure;
      break;
    }
    const std::lock_guard lock(work.mutex);
    --work.working;
    work.changed.notify_all();
  }

  // On the calling thread, until all is done or a failure has ended every device.
  static void deliver(Work& work, std::vector<Measurement>& results, const OnResult& on_result) {
    std::unique_lock lock(work.mutex);
    while (true) {
      work.changed.wait(lock, [&] { return !work.arrived.empty() || work.working == 0; });
      if (work.arrived.empty()) return;
      auto [index, measurement] = std::move(work.arrived.front());
      work.arrived.pop_front();
      lock.unlock();
      try {
        if (on_result) on_result(index, measurement);
      } catch (...) {
        lock.lock();
        work.failure = std::current_exception();
        work.stop.request_stop();
        work.changed.notify_all();
        return;
      }
      lock.lock();
      results[index] = std::move(measurement);
    }
  }

  std::vector<PooledDevice> devices_;
  mutable std::vector<bool> broken_;
};

}  // namespace

std::unique_ptr<Measurer> make_pool(std::vector<PooledDevice> devices) {
  if (devices.empty()) throw Error(ErrorKind::usage, "a pool needs at least one device");
  return std::make_unique<Pool>(std::move(devices));
}

}  // namespace kc
