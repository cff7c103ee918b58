#include "serve/client.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <httplib.h>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "base/pattern.h"
#include "base/printable.h"
#include "measure/machine.h"
#include "serve/answers.h"
#include "serve/cutting.h"
#include "serve/protocol.h"
#include "serve/token.h"

namespace kc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostResends = 5;  // of a job that the server forgot, without a new result in between
constexpr std::size_t kLongestFault = 500;
constexpr std::chrono::milliseconds kFirstPause(100), kLongestPause(2000);
constexpr int kMostPort = 65535;
constexpr int kUnauthorized = 401, kNotFound = 404, kConflict = 409, kTooMany = 429, kUnavailable = 503;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

class RemoteMeasurer : public Measurer {
 public:
  RemoteMeasurer(std::string url, const RemoteOptions& options) : url_(std::move(url)), options_(options), http_(url_) {
    http_.set_bearer_token_auth(options.token);
    http_.set_connection_timeout(milliseconds(options.connect_timeout_s));
    http_.set_read_timeout(milliseconds(options.poll_s + options.patience_s));
    http_.set_write_timeout(milliseconds(options.patience_s));
  }

  std::vector<Measurement> measure(std::span<const MeasureRequest> requests, const OnResult& on_result,
                                   std::stop_token stop) override {
    std::vector<Measurement> results(requests.size());
    if (!requests.empty()) status(stop);
    std::size_t first = 0;
    for (const std::size_t end : cut_into_jobs(requests, options_.job_size, options_.job_bytes)) {
      const Deliver deliver = [&](std::size_t i, Measurement measurement) {
        results[first + i] = std::move(measurement);
        if (on_result) on_result(first + i, results[first + i]);
      };
      run_job(requests.subspan(first, end - first), deliver, stop);
      first = end;
    }
    return results;
  }

  std::string kind() const override { return status({}).kind; }

  Provenance provenance(const TaskPack& task) const override {
    const auto known = provenances_.find(task.name);
    if (known != provenances_.end()) return known->second;
    const auto response = insist([&] { return http_.Get("/v1/tasks/" + task.name); }, {});
    require_success(response);
    const TaskAnswer answer = understood([&] { return task_answer_of(response.body); });
    if (answer.fingerprint != task_fingerprint(task)) {
      throw Error(
          ErrorKind::bad_data,
          fmt::format("{}: its task '{}' is another one than ours (task.yaml, reference, seed or devices differ)", url_,
                      task.name));
    }
    return provenances_[task.name] = answer.provenance;
  }

 private:
  using Deliver = std::function<void(std::size_t, Measurement)>;

  // Also makes sure that the server understands all that a job says: an older one would pass over what it does not.
  ServerStatus status(const std::stop_token& stop) const {
    const auto response = insist([&] { return http_.Get("/v1/status"); }, stop);
    require_success(response);
    ServerStatus read = understood([&] { return status_of(response.body); });
    if (read.protocol == kServeProtocol) return read;
    throw Error(ErrorKind::environment, fmt::format("{} speaks protocol {}, this program {}: use the same version of "
                                                    "Kernelcast on both machines",
                                                    url_, read.protocol, kServeProtocol));
  }

  void run_job(std::span<const MeasureRequest> requests, const Deliver& deliver, const std::stop_token& stop) {
    JobText job{random_run_id() + random_run_id(),
                requests[0].task->name,
                task_fingerprint(*requests[0].task),
                {},
                requests[0].fresh};
    for (const MeasureRequest& request : requests) job.candidates.push_back(request.candidate);
    const std::string text = to_text(job);
    std::vector<bool> delivered(requests.size(), false);
    submit(text, stop);
    int resent = 0;  // since the last new result
    for (std::size_t from = 0;;) {
      if (stop.stop_requested()) cancel(job.id);
      throw_if_stopped(stop);
      const auto response = poll(job.id, from, stop);
      if (response.status == kNotFound) {  // the server was started anew: what it had measured is lost
        pause_before_resending(resent++);
        submit(text, stop);
        from = 0;
        continue;
      }
      require_success(response);
      JobAnswer answer = understood([&] { return job_answer_of(response.body); });
      from += answer.results.size();
      const bool progress = take_results(answer, requests, delivered, deliver);
      if (is_finished(answer, delivered)) return;
      if (progress) resent = 0;
      if (answer.results.empty()) std::this_thread::sleep_for(kFirstPause);  // a busy server does not let polls wait
    }
  }

  void pause_before_resending(int resent) const {
    if (resent == kMostResends) {
      throw Error(
          ErrorKind::environment,
          fmt::format("{} forgot the same job {} times without a new result: does it end and start again, or is "
                      "another program at that port? Look at its log",
                      url_, resent + 1));
    }
    log::warning(url_ + " no longer knows the job; it is sent again");
    std::this_thread::sleep_for(std::min(kFirstPause * (1 << resent), kLongestPause));
  }

  void submit(const std::string& text, const std::stop_token& stop) const {
    require_success(insist([&] { return http_.Post("/v1/jobs", text, "application/json"); }, stop));
  }

  httplib::Response poll(const std::string& id, std::size_t from, const std::stop_token& stop) const {
    const std::string path =
        fmt::format("/v1/jobs/{}?from={}&wait_ms={}", id, from, milliseconds(options_.poll_s).count());
    return insist([&] { return http_.Get(path); }, stop);
  }

  void cancel(const std::string& id) const { http_.Delete("/v1/jobs/" + id); }  // best effort

  // Whether there was a new one.
  bool take_results(JobAnswer& answer, std::span<const MeasureRequest> requests, std::vector<bool>& delivered,
                    const Deliver& deliver) const {
    const auto known = provenances_.find(requests[0].task->name);
    const Provenance* announced = known == provenances_.end() ? nullptr : &known->second;
    bool progress = false;
    for (auto& [index, measurement] : answer.results) {
      if (index >= requests.size()) throw not_ours("a result for no candidate of ours");
      if (delivered[index]) continue;
      const MeasureRequest& request = requests[index];
      const std::string fault = fault_of_result(measurement, request, announced);
      if (!fault.empty()) throw unfit(request, fault);
      measurement.kernel = request.candidate.kernel;
      measurement.kernel_name = request.candidate.name;
      measurement.is_seed = request.candidate.is_seed;
      delivered[index] = progress = true;
      deliver(index, std::move(measurement));
    }
    return progress;
  }

  bool is_finished(const JobAnswer& answer, const std::vector<bool>& delivered) const {
    if (answer.failure) throw Error(answer.failure->kind(), url_ + ": " + answer.failure->what());
    if (answer.progress == JobProgress::cancelled) {
      throw Error(ErrorKind::environment, url_ + ": the server cancelled the job");
    }
    if (answer.progress != JobProgress::done) return false;
    if (std::find(delivered.begin(), delivered.end(), false) == delivered.end()) return true;
    throw not_ours("a job is done but lacks results");
  }

  Error not_ours(const std::string& what) const {
    return Error(ErrorKind::environment,
                 fmt::format("{}: its answers are not those of `measure serve` ({}): is another program at that port?",
                             url_, text_of_server(what, kLongestFault)));
  }

  Error unfit(const MeasureRequest& request, const std::string& fault) const {
    return Error(
        ErrorKind::environment,
        fmt::format("{}: its result for '{}' of the task '{}' {}; it is not stored: was the server changed, or "
                    "is it another one?",
                    url_, printable(request.candidate.name), request.task->name, fault));
  }

  // What `read` makes of an answer; a fault of it is the server's, not of our data.
  template <class Read>
  std::invoke_result_t<Read> understood(const Read& read) const {
    try {
      return read();
    } catch (const Error& fault) {
      throw not_ours(fault.what());
    }
  }

  // Sends until there is an answer that is not "busy", or patience ends.
  template <class Send>
  httplib::Response insist(const Send& send, const std::stop_token& stop) const {
    Clock::time_point reached = Clock::now();
    std::chrono::milliseconds pause = kFirstPause;
    while (true) {
      throw_if_stopped(stop);
      const httplib::Result result = send();
      if (result && result->status != kTooMany && result->status != kUnavailable) return *result;
      if (result && result->status == kTooMany) reached = Clock::now();  // a full queue empties
      if (Clock::now() - reached > milliseconds(options_.patience_s)) {
        if (result) throw not_ours(fmt::format("HTTP {}", result->status));
        throw Error(ErrorKind::environment,
                    fmt::format("{} is out of reach ({}): is `measure serve` running there, and the port open?", url_,
                                httplib::to_string(result.error())));
      }
      std::this_thread::sleep_for(pause);
      pause = std::min(2 * pause, kLongestPause);
    }
  }

  void require_success(const httplib::Response& response) const {
    if (response.status >= 200 && response.status < 300) return;
    if (response.status == kUnauthorized) {
      throw Error(ErrorKind::environment, url_ +
                                              " refuses the token: give the server's with --token-file, or in "
                                              "KERNELCAST_TOKEN");
    }
    std::string reason;
    try {
      reason = reason_of(response.body);
    } catch (const Error& fault) {
      throw not_ours(fmt::format("HTTP {}: {}", response.status, fault.what()));
    }
    const bool ours = response.status == kNotFound || response.status == kConflict;
    throw Error(ours ? ErrorKind::bad_data : ErrorKind::environment,
                fmt::format("{}: {} (HTTP {})", url_, reason, response.status));
  }

  std::string url_;
  RemoteOptions options_;
  mutable httplib::Client http_;
  mutable std::map<std::string, Provenance> provenances_;
};

}  // namespace

std::unique_ptr<Measurer> make_remote_measurer(const std::string& url, const RemoteOptions& options) {
  static const Pattern form(R"(http://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5})");
  const int port = form.matches(url) ? std::stoi(url.substr(url.rfind(':') + 1)) : 0;
  if (port < 1 || port > kMostPort) {
    throw Error(ErrorKind::usage,
                fmt::format("'{}' is no address of a server: expected http://HOST:PORT with a port from 1 to {}",
                            printable(url), kMostPort));
  }
  const std::string fault = options.token.empty() ? "" : fault_of_token(options.token);
  if (!fault.empty()) throw Error(ErrorKind::usage, fmt::format("the token for {} is none: {}", url, fault));
  return std::make_unique<RemoteMeasurer>(url, options);
}

}  // namespace kc
