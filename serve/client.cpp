#include "serve/client.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include <fmt/format.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/interrupt.h"
#include "base/json.h"
#include "base/log.h"
#include "base/pattern.h"
#include "measure/machine.h"
#include "serve/cutting.h"
#include "serve/protocol.h"

namespace kc {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kFirstPause(100), kLongestPause(2000);
constexpr int kUnauthorized = 401, kNotFound = 404, kConflict = 409, kTooMany = 429, kUnavailable = 503;

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<std::int64_t>(1000 * seconds));
}

std::string message_of(const httplib::Response& response) {
  if (nested_too_deep(response.body)) return "an answer that is nested too deep";
  const json body = json::parse(response.body, nullptr, false);
  if (body.is_object() && body.contains("error") && body["error"].is_string()) return body["error"].get<std::string>();
  return response.body.substr(0, 200);
}

// Whatever else went wrong there, here it is the device that does not work.
ErrorKind kind_of(int number) {
  return number == static_cast<int>(ErrorKind::bad_data) ? ErrorKind::bad_data : ErrorKind::environment;
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
      try {
        run_job(requests.subspan(first, end - first), deliver, stop);
      } catch (const json::exception&) {
        throw Error(ErrorKind::environment, url_ + ": its answers are not those of `measure serve`");
      }
      first = end;
    }
    return results;
  }

  std::string kind() const override { return status({}).value("kind", "host"); }

  Provenance provenance(const TaskPack& task) const override {
    const auto known = provenances_.find(task.name);
    if (known != provenances_.end()) return known->second;
    const auto response = insist([&] { return http_.Get("/v1/tasks/" + task.name); }, {});
    require_success(response);
    const json body = parse_object(response.body);
    if (body.value("fingerprint", "") != task_fingerprint(task)) {
      throw Error(
          ErrorKind::bad_data,
          fmt::format("{}: its task '{}' is another one than ours (task.yaml, reference, seed or devices differ)", url_,
                      task.name));
    }
    return provenances_[task.name] = provenance_of(body.value("provenance", json::object()));
  }

 private:
  using Deliver = std::function<void(std::size_t, Measurement)>;

  // Also makes sure that the server understands all that a job says: an older one would pass over what it does not.
  json status(const std::stop_token& stop) const {
    const auto response = insist([&] { return http_.Get("/v1/status"); }, stop);
    require_success(response);
    json body = parse_object(response.body);
    const int protocol = body.value("protocol", 0);
    if (protocol == kServeProtocol) return body;
    throw Error(ErrorKind::environment, fmt::format("{} speaks protocol {}, this program {}: use the same version of "
                                                    "Kernelcast on both machines",
                                                    url_, protocol, kServeProtocol));
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
    for (std::size_t from = 0;;) {
      if (stop.stop_requested()) cancel(job.id);
      throw_if_stopped(stop);
      const auto response = poll(job.id, from, stop);
      if (response.status == kNotFound) {  // the server was started anew: what it had measured is lost
        log::warning(url_ + " no longer knows the job; it is sent again");
        submit(text, stop);
        from = 0;
        continue;
      }
      require_success(response);
      const json body = parse_object(response.body);
      take_results(body, requests, delivered, deliver);
      from = body.value("next", from);
      if (is_finished(body, delivered)) return;
    }
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

  void take_results(const json& body, std::span<const MeasureRequest> requests, std::vector<bool>& delivered,
                    const Deliver& deliver) const {
    for (const json& item : body.value("results", json::array())) {
      const std::size_t index = item.is_object() ? item.value("index", requests.size()) : requests.size();
      if (index >= requests.size()) throw Error(ErrorKind::bad_data, url_ + ": a result for no candidate of ours");
      if (delivered[index]) continue;
      delivered[index] = true;
      Measurement measurement = measurement_of(item.value("measurement", json::object()));
      measurement.kernel = requests[index].candidate.kernel;
      deliver(index, std::move(measurement));
    }
  }

  bool is_finished(const json& body, const std::vector<bool>& delivered) const {
    const std::string state = body.value("state", "");
    if (state == "failed") {
      const json failure = body.value("failure", json::object());
      throw Error(kind_of(failure.value("kind", -1)), url_ + ": " + failure.value("message", ""));
    }
    if (state == "cancelled") throw Error(ErrorKind::environment, url_ + ": the server cancelled the job");
    if (state != "done") return false;
    if (std::find(delivered.begin(), delivered.end(), false) == delivered.end()) return true;
    throw Error(ErrorKind::bad_data, url_ + ": a job is done but lacks results");
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
      if (result) reached = Clock::now();  // a full queue empties
      if (Clock::now() - reached > milliseconds(options_.patience_s)) {
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
    const bool ours = response.status == kNotFound || response.status == kConflict;
    throw Error(ours ? ErrorKind::bad_data : ErrorKind::environment,
                fmt::format("{}: {} (HTTP {})", url_, message_of(response), response.status));
  }

  std::string url_;
  RemoteOptions options_;
  mutable httplib::Client http_;
  mutable std::map<std::string, Provenance> provenances_;
};

}  // namespace

std::unique_ptr<Measurer> make_remote_measurer(const std::string& url, const RemoteOptions& options) {
  static const Pattern form(R"(http://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5})");
  if (!form.matches(url)) {
    throw Error(ErrorKind::usage, fmt::format("'{}' is no address of a server: expected http://HOST:PORT", url));
  }
  return std::make_unique<RemoteMeasurer>(url, options);
}

}  // namespace kc
