#include "serve/job_board.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "base/log.h"

namespace kc {
namespace {

struct Job {
  std::string content;
  std::vector<MeasureRequest> requests;
  std::size_t total = 0;
  JobState state = JobState::queued;
  std::vector<std::pair<std::size_t, Measurement>> arrived;
  std::optional<Error> failure;
  std::stop_source stop;
};

}  // namespace

std::string_view name_of(JobState state) {
  constexpr std::string_view kNames[] = {"queued", "running", "done", "failed", "cancelled"};
  return kNames[static_cast<std::size_t>(state)];
}

struct JobBoard::Impl {
  Measurer& measurer;
  JobLimits limits;
  mutable std::mutex mutex = {};
  std::condition_variable_any changed = {};
  std::map<std::string, std::shared_ptr<Job>> jobs = {};
  std::deque<std::string> waiting = {};   // ids of queued jobs
  std::deque<std::string> finished = {};  // oldest first
  std::shared_ptr<Job> running = {};
  std::int64_t measured = 0;
  std::jthread worker = {};

  void work(const std::stop_token& stop) {
    while (const std::shared_ptr<Job> job = next(stop)) {
      const std::stop_callback forward(stop, [&job] { job->stop.request_stop(); });
      run(*job);
      const std::lock_guard lock(mutex);
      running.reset();
      retire(*job);
      changed.notify_all();
    }
  }

  std::shared_ptr<Job> next(const std::stop_token& stop) {
    std::unique_lock lock(mutex);
    changed.wait(lock, stop, [&] { return !waiting.empty(); });
    if (stop.stop_requested()) return nullptr;
    running = jobs.at(waiting.front());
    waiting.pop_front();
    running->state = JobState::running;
    return running;
  }

  void run(Job& job) {
    try {
      measurer.measure(
          job.requests,
          [&](std::size_t i, const Measurement& measurement) {
            const std::lock_guard lock(mutex);
            job.arrived.emplace_back(i, measurement);
            job.arrived.back().second.kernel = {};  // the client knows it
            ++measured;
            changed.notify_all();
          },
          job.stop.get_token());
      finish(job, JobState::done);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) return finish(job, JobState::cancelled);
      log::warning(std::string("a job failed: ") + error.what());
      finish(job, JobState::failed, error);
    } catch (const std::exception& error) {
      log::warning(std::string("a job failed: ") + error.what());
      finish(job, JobState::failed, Error(ErrorKind::internal, error.what()));
    }
  }

  void finish(Job& job, JobState state, std::optional<Error> failure = std::nullopt) {
    const std::lock_guard lock(mutex);
    job.state = state;
    job.failure = std::move(failure);
  }

  // Keeps a finished job for clients that come back; its requests are no longer needed.
  void retire(const Job& job) {
    for (const auto& [id, known] : jobs) {
      if (known.get() == &job) finished.push_back(id);
    }
    jobs.at(finished.back())->requests = {};
    while (finished.size() > limits.finished) {
      jobs.erase(finished.front());
      finished.pop_front();
    }
  }
};

JobBoard::JobBoard(Measurer& measurer, const JobLimits& limits) : impl_(new Impl{measurer, limits}) {
  impl_->worker = std::jthread([impl = impl_.get()](const std::stop_token& stop) { impl->work(stop); });
}

JobBoard::~JobBoard() {
  impl_->worker.request_stop();
  impl_->worker.join();
}

Submission JobBoard::submit(const std::string& id, const std::string& content, std::vector<MeasureRequest> requests) {
  const std::lock_guard lock(impl_->mutex);
  const auto known = impl_->jobs.find(id);
  if (known != impl_->jobs.end()) {
    return known->second->content == content ? Submission::known : Submission::conflict;
  }
  if (impl_->waiting.size() + (impl_->running ? 1 : 0) >= impl_->limits.queued) return Submission::full;
  const auto job = std::make_shared<Job>();
  job->content = content;
  job->total = requests.size();
  job->requests = std::move(requests);
  impl_->jobs.emplace(id, job);
  impl_->waiting.push_back(id);
  impl_->changed.notify_all();
  return Submission::accepted;
}

std::optional<JobView> JobBoard::view(const std::string& id, std::size_t from, std::chrono::milliseconds wait) {
  std::unique_lock lock(impl_->mutex);
  const auto known = impl_->jobs.find(id);
  if (known == impl_->jobs.end()) return std::nullopt;
  const std::shared_ptr<Job> job = known->second;  // survives eviction while we wait
  impl_->changed.wait_for(lock, wait, [&] {
    return job->arrived.size() > from || (job->state != JobState::queued && job->state != JobState::running);
  });
  JobView view{job->state, job->total, {}, job->failure};
  for (std::size_t i = from; i < job->arrived.size(); ++i) view.results.push_back(job->arrived[i]);
  return view;
}

bool JobBoard::cancel(const std::string& id) {
  const std::lock_guard lock(impl_->mutex);
  const auto known = impl_->jobs.find(id);
  if (known == impl_->jobs.end()) return false;
  Job& job = *known->second;
  job.stop.request_stop();
  if (job.state != JobState::queued) return true;
  job.state = JobState::cancelled;
  std::erase(impl_->waiting, id);
  impl_->retire(job);
  impl_->changed.notify_all();
  return true;
}

BoardCounts JobBoard::counts() const {
  const std::lock_guard lock(impl_->mutex);
  return {impl_->waiting.size() + (impl_->running ? 1 : 0), impl_->jobs.size(), impl_->measured};
}

}  // namespace kc
