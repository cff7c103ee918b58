// The server as a stranger meets it: raw HTTP.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <httplib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "serve/protocol.h"
#include "tests/serve/served_task.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    http_.set_bearer_token_auth(kToken);
    http_.set_read_timeout(10);
  }
  static ServeOptions small() {
    ServeOptions options;
    options.max_body_bytes = 20000;
    options.max_candidates = 4;
    options.read_timeout_s = 0.5;
    options.threads = 4;
    options.jobs.queued = 2;
    return options;
  }
  std::string job(int candidates, const std::string& id = "0123456789") const {
    JobText text{id, task_.name, task_fingerprint(task_), {}};
    for (const MeasureRequest& request : fake_requests(task_, candidates)) text.candidates.push_back(request.candidate);
    return to_text(text);
  }
  int post(const std::string& body, const std::string& type = "application/json") {
    const auto result = http_.Post("/v1/jobs", body, type);
    return result ? result->status : -1;
  }
  int get(const std::string& path) {
    const auto result = http_.Get(path);
    return result ? result->status : -1;
  }
  // Sends bytes as they are, and gives the beginning of what comes back; closes at once when `hang_up`.
  std::string raw(const std::string& bytes, bool hang_up = false) const {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(server_.port()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    const timeval limit{10, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    [[maybe_unused]] const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    char buffer[512];
    const ssize_t count = hang_up ? 0 : ::recv(fd, buffer, sizeof buffer, 0);
    ::close(fd);
    return count > 0 ? std::string(buffer, static_cast<std::size_t>(count)) : "";
  }
  void expect_alive() { EXPECT_EQ(get("/v1/status"), 200); }

  TaskFiles files_;
  TaskPack task_ = load_task_pack(files_.path());
  std::unique_ptr<Measurer> device_ = make_fake_measurer();
  RunningServer server_{*device_, {task_}, small()};
  httplib::Client http_{"127.0.0.1", server_.port()};
};

TEST_F(ServerTest, MeasuresAJobAndGivesResultsFromANumberOn) {
  EXPECT_EQ(post(job(3)), 201);
  json body;
  do {
    body = json::parse(http_.Get("/v1/jobs/0123456789?from=0&wait_ms=5000")->body);
  } while (body["state"] != "done");
  EXPECT_EQ(body["total"], 3);
  EXPECT_EQ(body["results"].size(), 3U);
  EXPECT_EQ(body["results"][1]["measurement"]["kernel_name"], "kernel 1.cpp");
  body = json::parse(http_.Get("/v1/jobs/0123456789?from=2")->body);
  EXPECT_EQ(body["results"].size(), 1U);
}

TEST_F(ServerTest, TheSameIdIsTheSameJob) {
  EXPECT_EQ(post(job(3)), 201);
  EXPECT_EQ(post(job(3)), 200);
  EXPECT_EQ(post(job(2)), 409);
}

TEST_F(ServerTest, NothingIsToldWithoutTheToken) {
  for (const char* token : {"", "a token of the test", "a token of the tests2", "A token of the tests"}) {
    httplib::Client stranger("127.0.0.1", server_.port());
    if (*token != '\0') stranger.set_bearer_token_auth(token);
    for (const char* path : {"/v1/status", "/v1/tasks/affine", "/v1/jobs/0123456789", "/"}) {
      EXPECT_EQ(stranger.Get(path)->status, 401) << path;
    }
    EXPECT_EQ(stranger.Post("/v1/jobs", job(1), "application/json")->status, 401);
    EXPECT_EQ(stranger.Delete("/v1/jobs/0123456789")->status, 401);
  }
}

TEST_F(ServerTest, RubbishIsAFourHundred) {
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), std::string("\xFF\xFE"), std::string(R"({"id": 1})"),
        std::string(5000, '['), R"({"candidates":)" + std::string(5000, '[') + std::string(5000, ']') + "}"}) {
    EXPECT_EQ(post(body), 400) << body.substr(0, 20);
  }
  EXPECT_EQ(post(job(1), "text/plain"), 415);
  EXPECT_EQ(post(job(5)), 413);
  EXPECT_EQ(post(job(1) + std::string(30000, ' ')), 413);
  EXPECT_EQ(get("/v1/jobs/unknown-job"), 404);
  EXPECT_EQ(get("/v1/jobs/..%2F..%2Fetc"), 404);
  EXPECT_EQ(get("/nothing"), 404);
  EXPECT_EQ(get("/v1/tasks/unknown"), 404);
  expect_alive();
}

TEST_F(ServerTest, WhatIsRefusedSaysWhy) {
  const auto error_of = [](const httplib::Result& result) {
    const json body = json::parse(result->body, nullptr, false);
    return body.is_object() ? body.value("error", "") : "no JSON: " + result->body;
  };
  EXPECT_THAT(error_of(http_.Get("/nothing")), HasSubstr("no such path"));
  EXPECT_THAT(error_of(http_.Get("/v1/jobs/unknown-job")), HasSubstr("no such job"));
  EXPECT_THAT(error_of(http_.Post("/v1/jobs", job(1) + std::string(30000, ' '), "application/json")),
              HasSubstr("too long"));
}

TEST_F(ServerTest, QueriesOfTheWrongFormAreRefused) {
  post(job(1));
  for (const char* query : {"from=-1", "from=x", "from=99999999999999999999", "wait_ms=1e9", "from="}) {
    EXPECT_EQ(get(std::string("/v1/jobs/0123456789?") + query), 400) << query;
  }
}

TEST_F(ServerTest, AnotherTaskOfThatNameIsRefused) {
  const std::string other = replaced(job(1), task_fingerprint(task_), std::string(64, '0'));
  EXPECT_EQ(post(other), 409);
}

TEST_F(ServerTest, ALanguageThatTheTaskDoesNotTakeIsRefused) {
  const auto send = [&](TaskPack& task, const std::string& language) {
    task.name = "of a device";
    const RunningServer server(*device_, {task}, small());
    httplib::Client http("127.0.0.1", server.port());
    http.set_bearer_token_auth(kToken);
    JobText text{"0123456789", task.name, task_fingerprint(task), {}};
    for (const MeasureRequest& request : fake_requests(task, 2)) text.candidates.push_back(request.candidate);
    text.candidates[1].kernel.language = language;
    const auto result = http.Post("/v1/jobs", to_text(text), "application/json");
    return std::to_string(result->status) + " " + result->body;
  };
  for (const char* language : {"cpp", "c"}) EXPECT_THAT(send(task_, language), HasSubstr("201"));
  for (const char* language : {"cuda", "fortran", ""})
    EXPECT_THAT(send(task_, language), AllOf(HasSubstr("400"), HasSubstr("'kernel 1.cpp'"), HasSubstr("cpp and c")));
  TaskPack gpu = task_;
  gpu.seed.language = "cuda";
  EXPECT_THAT(send(gpu, "cpp"), AllOf(HasSubstr("400"), HasSubstr("'kernel 0.cpp'"), HasSubstr("takes cuda")));
  gpu.seed.language = "opencl";
  EXPECT_THAT(send(gpu, "fortran"), HasSubstr("201")) << "what a device of such tasks takes is not known";
}

TEST_F(ServerTest, BytesThatAreNoHttpHarmNobody) {
  const std::string authorised = std::string("Authorization: Bearer ") + kToken + "\r\n";
  EXPECT_THAT(raw("POST /v1/jobs HTTP/1.1\r\n" + authorised + "Transfer-Encoding: chunked\r\n\r\nffffffff\r\n"),
              HasSubstr("411"));
  EXPECT_THAT(raw("POST /v1/jobs HTTP/1.1\r\n" + authorised +
                  "Content-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n{"),
              HasSubstr("413"));
  EXPECT_THAT(raw("POST /v1/jobs HTTP/1.1\r\n" + authorised +
                  "Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08"),
              HasSubstr("415"));
  raw(std::string("\x00\xff\x16\x03\x01", 5));
  raw("GET / HTTP/1.1\r\nA: " + std::string(100000, 'a') + "\r\n\r\n");
  raw("GET /" + std::string(100000, 'a') + " HTTP/1.1\r\n\r\n");
  raw("\r\n\r\n\r\n");
  expect_alive();
}

TEST_F(ServerTest, ClientsThatHangUpOrSaySoLittleHoldNobodyUp) {
  const std::string half = "POST /v1/jobs HTTP/1.1\r\nAuthorization: Bearer " + std::string(kToken) +
                           "\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"id\"";
  for (int i = 0; i < 20; ++i) raw(half, true);
  for (int i = 0; i < 6; ++i) raw(half);  // waits for the server to give up: more than it has threads, one by one
  expect_alive();
}

// Devices are not thread-safe, and clients ask while one measures.
TEST(ServerLimits, QuestionsOfClientsDoNotReachTheDevice) {
  class Counting : public Measurer {
   public:
    std::vector<Measurement> measure(std::span<const MeasureRequest> requests, const OnResult&,
                                     std::stop_token) override {
      return std::vector<Measurement>(requests.size());
    }
    Provenance provenance(const TaskPack& task) const override {
      if (++asked > 1) throw Error(ErrorKind::bad_data, "holds no measurement of the task " + task.name);
      return {};
    }
    mutable int asked = 0;
  };
  Counting device;
  const TaskFiles files;
  TaskPack known = load_task_pack(files.path()), unknown = known;
  unknown.name = "unknown";
  const RunningServer server(device, {known, unknown});
  for (int i = 0; i < 2; ++i) {
    const auto client = make_remote_measurer(server.url(), impatient());
    EXPECT_NO_THROW(client->provenance(known));
    EXPECT_ERROR(client->provenance(unknown), ErrorKind::bad_data, HasSubstr("holds no measurement of the task"));
  }
  EXPECT_EQ(device.asked, 2);
}

TEST(ServerLimits, AFullQueueAsksToComeBack) {
  const TaskFiles files;
  const TaskPack task = load_task_pack(files.path());
  FakeOptions slow;
  slow.seconds_per_candidate = 0.3;
  const auto device = make_fake_measurer(slow);
  ServeOptions options;
  options.jobs.queued = 1;
  const RunningServer server(*device, {task}, options);
  httplib::Client http("127.0.0.1", server.port());
  http.set_bearer_token_auth(kToken);
  const auto send = [&](const std::string& id) {
    JobText text{id, task.name, task_fingerprint(task), {}};
    for (const MeasureRequest& request : fake_requests(task, 20)) text.candidates.push_back(request.candidate);
    return http.Post("/v1/jobs", to_text(text), "application/json")->status;
  };
  EXPECT_EQ(send("first-job"), 201);
  EXPECT_EQ(send("second-job"), 429);
  EXPECT_EQ(http.Delete("/v1/jobs/first-job")->status, 204);
}

TEST(ServerLimits, AShortTokenAndATakenPortAreErrors) {
  const auto device = make_fake_measurer();
  ServeOptions options;
  options.token = "short";
  EXPECT_ERROR(MeasureServer(*device, {}, options), ErrorKind::usage, HasSubstr("16"));
  const RunningServer server(*device, {});
  options.token = kToken;
  options.port = server.port();
  EXPECT_ERROR(MeasureServer(*device, {}, options), ErrorKind::environment, HasSubstr(std::to_string(server.port())));
}

TEST(ServerLimits, AnAddressOfManyColonsStandsInBrackets) {
  EXPECT_EQ(url_of("127.0.0.1", 80), "http://127.0.0.1:80");
  EXPECT_EQ(url_of("::1", 80), "http://[::1]:80");
}

}  // namespace
}  // namespace kc::test
