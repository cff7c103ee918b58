#pragma once
// Work that is done on a thread of its own before somebody asks for its result.
#include <functional>
#include <future>
#include <stop_token>
#include <thread>
#include <utility>

namespace kc {

template <class T>
class Ahead {
 public:
  using Work = std::function<T(const std::stop_token&)>;

  // With `starts_now` in the background, at once; otherwise nothing happens before result().
  Ahead(Work work, bool starts_now) : work_(std::move(work)) {
    if (!starts_now) return;
    std::packaged_task<T()> task([this] { return work_(cancelled_.get_token()); });
    running_ = task.get_future();
    thread_ = std::jthread(std::move(task));
  }
  ~Ahead() { cancelled_.request_stop(); }  // what still runs is awaited
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;

  // Blocks; throws what the work throws. To be called once.
  T result(const std::stop_token& stop) {
    if (!running_.valid()) return work_(stop);
    const std::stop_callback forward(stop, [this] { cancelled_.request_stop(); });
    return running_.get();
  }

 private:
  Work work_;
  std::stop_source cancelled_;
  std::future<T> running_;
  std::jthread thread_;
};

}  // namespace kc
