#include "serve/server.h"

#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include <fmt/format.h>
#include <httplib.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/printable.h"
#include "serve/protocol.h"
#include "serve/served_tasks.h"
#include "serve/token.h"

namespace kc {
namespace {

using httplib::Request;
using httplib::Response;
using nlohmann::json;
using HandlerResponse = httplib::Server::HandlerResponse;

constexpr int kOk = 200, kCreated = 201, kNoContent = 204, kBadRequest = 400, kUnauthorized = 401, kNotFound = 404,
              kConflict = 409, kLengthRequired = 411, kTooLarge = 413, kUnsupportedMedia = 415, kTooMany = 429,
              kInternal = 500;

void answer(Response& response, int status, const json& body) {
  response.status = status;
  response.set_content(body.dump(-1, ' ', false, json::error_handler_t::replace) + "\n", "application/json");
}

void refuse(Response& response, int status, const std::string& message) {
  answer(response, status, {{"error", message}});
}

std::string reason_of(int status) {
  if (status == kNotFound) return "no such path here: this is `measure serve` of Kernelcast";
  if (status == kTooLarge) return "the request is too long: send fewer candidates in one job";
  return "the request was not understood";
}

std::string bearer_of(const Request& request) {
  constexpr std::string_view kScheme = "Bearer ";
  const std::string header = request.get_header_value("Authorization");
  return header.starts_with(kScheme) ? header.substr(kScheme.size()) : "";
}

// A number of the query; `fallback` when it is absent. Error{bad_data}.
std::size_t number_of(const Request& request, const char* name, std::size_t fallback) {
  if (!request.has_param(name)) return fallback;
  const std::string text = request.get_param_value(name);
  const bool digits = !text.empty() && text.size() <= 9 &&
                      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (!digits) throw Error(ErrorKind::bad_data, fmt::format("'{}' is no number", name));
  return std::stoul(text);
}

json view_json(const JobView& view, std::size_t from) {
  json results = json::array();
  for (const auto& [index, measurement] : view.results) {
    results.push_back({{"index", index}, {"measurement", to_json(measurement)}});
  }
  json body = {{"state", std::string(name_of(view.state))},
               {"total", view.total},
               {"next", from + view.results.size()},
               {"results", std::move(results)}};
  if (view.failure)
    body["failure"] = {{"kind", static_cast<int>(view.failure->kind())}, {"message", view.failure->what()}};
  return body;
}

}  // namespace

struct MeasureServer::Impl {
  // From here on the board's thread has the device to itself.
  Impl(Measurer& device, std::vector<TaskPack> packs, const ServeOptions& wanted)
      : tasks(served_tasks(device, std::move(packs))),
        kind(device.kind()),
        options(wanted),
        board(device, wanted.jobs) {}

  std::vector<ServedTask> tasks;
  std::string kind;
  ServeOptions options;
  JobBoard board;
  httplib::Server http;
  int port = 0;
  std::atomic<std::size_t> waiting_polls{0};

  void set_up_limits() {
    http.new_task_queue = [this] { return new httplib::ThreadPool(options.threads); };
    http.set_payload_max_length(options.max_body_bytes);
    // Not the library's own options, with which a second server could take a share of our port.
    http.set_socket_options([](socket_t socket) {
      const int yes = 1;
      ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    http.set_keep_alive_max_count(1);  // an idle connection would hold a thread
    http.set_read_timeout(std::chrono::milliseconds(static_cast<std::int64_t>(1000 * options.read_timeout_s)));
    http.set_write_timeout(std::chrono::milliseconds(static_cast<std::int64_t>(1000 * options.read_timeout_s)));
    http.set_pre_routing_handler(
        [this](const Request& request, Response& response) { return screen(request, response); });
    // What the library refuses by itself (no such path, too long a body) has no body of ours.
    http.set_error_handler([](const Request&, Response& response) {
      if (response.body.empty()) refuse(response, response.status, reason_of(response.status));
    });
    http.set_exception_handler([](const Request&, Response& response, const std::exception_ptr& failure) {
      try {
        std::rethrow_exception(failure);
      } catch (const Error& error) {
        refuse(response, error.kind() == ErrorKind::bad_data ? kBadRequest : kInternal, error.what());
      } catch (const std::exception& error) {
        log::error(std::string("a request failed: ") + error.what());
        refuse(response, kInternal, "internal error");
      }
    });
  }

  // Before anything of the body is read.
  HandlerResponse screen(const Request& request, Response& response) const {
    if (!tokens_equal(bearer_of(request), options.token)) {
      refuse(response, kUnauthorized, "missing or wrong token");
    } else if (request.has_header("Transfer-Encoding")) {
      refuse(response, kLengthRequired, "send the body with a Content-Length");
    } else if (request.has_header("Content-Encoding")) {
      refuse(response, kUnsupportedMedia, "send the body as it is, not compressed");
    } else if (request.method == "POST" && request.get_header_value("Content-Type") != "application/json") {
      refuse(response, kUnsupportedMedia, "send application/json");
    } else {
      return HandlerResponse::Unhandled;
    }
    return HandlerResponse::Handled;
  }

  void set_up_routes() {
    http.Get("/v1/status", [this](const Request&, Response& response) {
      const BoardCounts counts = board.counts();
      answer(response, kOk,
             {{"protocol", kServeProtocol},
              {"kind", kind},
              {"waiting", counts.waiting},
              {"kept", counts.kept},
              {"measured", counts.measured}});
    });
    http.Get(R"(/v1/tasks/([A-Za-z0-9_.-]{1,128}))",
             [this](const Request& request, Response& response) { describe_task(request.matches[1], response); });
    http.Post("/v1/jobs", [this](const Request& request, Response& response) { submit(request, response); });
    http.Get(R"(/v1/jobs/([A-Za-z0-9-]{1,64}))",
             [this](const Request& request, Response& response) { show_job(request, response); });
    http.Delete(R"(/v1/jobs/([A-Za-z0-9-]{1,64}))", [this](const Request& request, Response& response) {
      if (board.cancel(request.matches[1])) {
        response.status = kNoContent;
      } else {
        refuse(response, kNotFound, "no such job");
      }
    });
  }

  std::size_t find_task(const std::string& name) const {
    const auto found =
        std::find_if(tasks.begin(), tasks.end(), [&](const ServedTask& task) { return task.pack.name == name; });
    return static_cast<std::size_t>(found - tasks.begin());
  }

  void describe_task(const std::string& name, Response& response) const {
    const std::size_t t = find_task(name);
    if (t == tasks.size()) return refuse(response, kNotFound, fmt::format("the server has no task '{}'", name));
    const ServedTask& task = tasks[t];
    if (!task.provenance) return refuse(response, kNotFound, task.fault);
    answer(response, kOk, {{"fingerprint", task.fingerprint}, {"provenance", to_json(*task.provenance)}});
  }

  void submit(const Request& request, Response& response) {
    JobText job = job_of(request.body);
    const std::size_t t = find_task(job.task);
    if (t == tasks.size()) return refuse(response, kNotFound, fmt::format("the server has no task '{}'", job.task));
    if (job.fingerprint != tasks[t].fingerprint) {
      return refuse(
          response, kConflict,
          fmt::format("the task '{}' is not the same on both sides (task.yaml, reference, seed or devices differ)",
                      job.task));
    }
    if (job.candidates.size() > options.max_candidates) {
      return refuse(response, kTooLarge,
                    fmt::format("{} candidates in one job; at most {}", job.candidates.size(), options.max_candidates));
    }
    check_languages(tasks[t].pack, job.candidates);
    std::vector<MeasureRequest> requests;
    for (Candidate& candidate : job.candidates) requests.push_back({&tasks[t].pack, std::move(candidate), job.fresh});
    const json known = {{"id", job.id}, {"candidates", requests.size()}};
    switch (board.submit(job.id, sha256_hex(request.body), std::move(requests))) {
      case Submission::accepted:
        return answer(response, kCreated, known);
      case Submission::known:
        return answer(response, kOk, known);
      case Submission::conflict:
        return refuse(response, kConflict, "this id belongs to another job");
      case Submission::full:
        response.set_header("Retry-After", "1");
        return refuse(response, kTooMany, "the queue is full; try again");
    }
  }

  void show_job(const Request& request, Response& response) {
    const std::size_t from = number_of(request, "from", 0);
    const auto longest = static_cast<std::size_t>(1000 * options.longest_wait_s);
    std::chrono::milliseconds wait(std::min(number_of(request, "wait_ms", 0), longest));
    // Half of the threads stay free for requests that do not wait.
    const bool may_wait = ++waiting_polls <= std::max<std::size_t>(1, options.threads / 2);
    const auto view = board.view(request.matches[1], from, may_wait ? wait : std::chrono::milliseconds(0));
    --waiting_polls;
    if (!view) return refuse(response, kNotFound, "no such job");
    answer(response, kOk, view_json(*view, from));
  }
};

std::string url_of(const std::string& address, int port) {
  const bool is_ipv6 = address.find(':') != std::string::npos;
  return fmt::format("http://{}{}{}:{}", is_ipv6 ? "[" : "", address, is_ipv6 ? "]" : "", port);
}

MeasureServer::MeasureServer(Measurer& measurer, std::vector<TaskPack> tasks, const ServeOptions& options) {
  const std::string fault = fault_of_token(options.token);
  if (!fault.empty()) throw Error(ErrorKind::usage, "the token is no good: " + fault);
  impl_ = std::make_unique<Impl>(measurer, std::move(tasks), options);
  impl_->set_up_limits();
  impl_->set_up_routes();
  if (options.port == 0) {
    impl_->port = impl_->http.bind_to_any_port(options.address);
  } else if (impl_->http.bind_to_port(options.address, options.port)) {
    impl_->port = options.port;
  }
  if (impl_->port <= 0) {
    throw Error(ErrorKind::environment, fmt::format("cannot listen on {}: is the port taken, or the address not one "
                                                    "of this machine?",
                                                    url_of(options.address, options.port)));
  }
}

MeasureServer::~MeasureServer() = default;

int MeasureServer::port() const { return impl_->port; }

void MeasureServer::run(const std::stop_token& stop) {
  std::jthread listener([this] { impl_->http.listen_after_bind(); });
  std::atomic<bool> stopped = false;
  const std::stop_callback callback(stop, [&stopped] {
    stopped = true;
    stopped.notify_all();
  });
  stopped.wait(false);
  // stop() does nothing before the listener has begun.
  while (!impl_->http.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  impl_->http.stop();
}

}  // namespace kc
