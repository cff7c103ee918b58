// The remote device: a server behind the Measurer interface, and what breaks between them.
#include <gmock/gmock.h>
#include <httplib.h>

#include <chrono>

#include "measure/caching.h"
#include "tests/serve/served_task.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ClientTest : public ::testing::Test {
 protected:
  FakeOptions slow() const {
    FakeOptions options;
    options.seconds_per_candidate = 0.02;
    return options;
  }
  TaskFiles files_;
  TaskPack task_ = load_task_pack(files_.path());
};

TEST_F(ClientTest, ARemoteDeviceAnswersLikeTheDeviceItself) {
  const auto device = make_fake_measurer();
  const RunningServer server(*device, {task_});
  RemoteOptions options = impatient();
  options.job_size = 7;
  const auto remote = make_remote_measurer(server.url(), options);
  const auto requests = fake_requests(task_, 20);
  std::vector<bool> reported(requests.size(), false);
  const auto got = remote->measure(requests, [&](std::size_t i, const Measurement&) { reported[i] = true; }, {});
  const auto expected = device->measure(requests, {}, {});
  EXPECT_THAT(reported, ::testing::Each(true));
  for (std::size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(got[i].kernel_name, expected[i].kernel_name);
    EXPECT_EQ(kernel_id(got[i].kernel), kernel_id(expected[i].kernel));
    EXPECT_EQ(got[i].cases[0].candidate_ns, expected[i].cases[0].candidate_ns);
    EXPECT_EQ(got[i].provenance.run_id, expected[i].provenance.run_id);
  }
  EXPECT_EQ(remote->provenance(task_).device, "fake");
  EXPECT_EQ(remote->kind(), "host");
}

TEST_F(ClientTest, LongSourcesGoInSeveralJobs) {
  const auto device = make_fake_measurer();
  const RunningServer server(*device, {task_});
  const auto remote = make_remote_measurer(server.url(), impatient());
  auto requests = fake_requests(task_, 6);
  // Of these bytes each takes two in JSON.
  for (MeasureRequest& request : requests) request.candidate.kernel.source.append(2'500'000, '"');
  EXPECT_EQ(remote->measure(requests, {}, {}).size(), 6);
}

TEST_F(ClientTest, ACandidateThatNoServerTakesIsNamedBeforeAnyIsMeasured) {
  const auto device = make_fake_measurer();
  const RunningServer server(*device, {task_});
  const auto remote = make_remote_measurer(server.url(), impatient());
  int measured = 0;
  const auto count = [&](auto, auto&) { ++measured; };
  auto requests = fake_requests(task_, 3);
  requests[2].candidate.kernel.source.assign(kMaxJobBytes, 'x');
  EXPECT_ERROR(remote->measure(requests, count, {}), ErrorKind::bad_data,
               AllOf(HasSubstr("'affine'"), HasSubstr("'kernel 2.cpp'"), HasSubstr("16777"), HasSubstr("at most")));
  requests[2].candidate.kernel.source = "\xFF";
  EXPECT_ERROR(remote->measure(requests, count, {}), ErrorKind::bad_data,
               AllOf(HasSubstr("'affine'"), HasSubstr("'kernel 2.cpp'"), HasSubstr("UTF-8")));
  EXPECT_EQ(measured, 0);
}

TEST_F(ClientTest, TheCacheOfTheServerDoesNotAnswerWhatIsToBeFresh) {
  int measured = 0;
  const auto device = make_caching_measurer(make_fake_measurer(CountingScript{}.options(measured)));
  const RunningServer server(*device, {task_});
  const auto remote = make_remote_measurer(server.url(), impatient());
  auto requests = fake_requests(task_, 4);
  for (int pass = 0; pass < 2; ++pass) remote->measure(requests, {}, {});
  EXPECT_EQ(measured, 4);
  requests[1].fresh = requests[2].fresh = true;
  EXPECT_EQ(remote->measure(requests, {}, {}).size(), 4);
  EXPECT_EQ(measured, 6);
}

TEST_F(ClientTest, AServerOfAnotherVersionIsNotSentJobsThatItMayMisunderstand) {
  for (const char* status : {R"({"protocol": 1, "kind": "host"})", R"({"kind": "host"})"}) {
    httplib::Server older;
    older.Get("/v1/status", [&](const httplib::Request&, httplib::Response& response) {
      response.set_content(status, "application/json");
    });
    int jobs = 0;
    older.Post("/v1/jobs", [&](const httplib::Request&, httplib::Response&) { ++jobs; });
    const int port = older.bind_to_any_port("127.0.0.1");
    std::jthread thread([&] { older.listen_after_bind(); });
    while (!older.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto remote = make_remote_measurer("http://127.0.0.1:" + std::to_string(port), impatient());
    EXPECT_ERROR(remote->kind(), ErrorKind::environment, HasSubstr("the same version"));
    EXPECT_ERROR(remote->measure(fake_requests(task_, 1), {}, {}), ErrorKind::environment,
                 HasSubstr("the same version"));
    older.stop();
    EXPECT_EQ(jobs, 0);
  }
}

TEST_F(ClientTest, FaultsOfTheTransportAreClear) {
  const auto device = make_fake_measurer();
  int port = 0;
  {
    const RunningServer server(*device, {task_});
    port = server.port();
    RemoteOptions wrong = impatient();
    wrong.token = "some other token 123";
    EXPECT_ERROR(make_remote_measurer(server.url(), wrong)->provenance(task_), ErrorKind::environment,
                 HasSubstr("token"));
    EXPECT_ERROR(make_remote_measurer(server.url(), impatient())->measure(fake_requests(fake_task(), 1), {}, {}),
                 ErrorKind::bad_data, ::testing::_);
  }
  const std::string gone = "http://127.0.0.1:" + std::to_string(port);
  EXPECT_ERROR(make_remote_measurer(gone, impatient())->measure(fake_requests(task_, 1), {}, {}),
               ErrorKind::environment, HasSubstr("out of reach"));
  for (const char* url : {"http://", "http://host", "https://host:1", "http://host:1/path", "http://a b:1",
                          "http://h:123456", "http://h:99999", "http://h:65536", "http://h:0"}) {
    EXPECT_ERROR(make_remote_measurer(url, impatient()), ErrorKind::usage, HasSubstr("http://HOST:PORT"));
  }
  RemoteOptions injected = impatient();
  injected.token = "a token of the tests\r\nX-Other: 1";
  EXPECT_ERROR(make_remote_measurer(gone, injected), ErrorKind::usage, HasSubstr("printable ASCII"));
}

TEST_F(ClientTest, AServerThatIsSomethingElseIsAnError) {
  httplib::Server other;
  other.Get(".*",
            [](const httplib::Request&, httplib::Response& response) { response.set_content("[1, 2]", "text/html"); });
  other.Post(".*",
             [](const httplib::Request&, httplib::Response& response) { response.set_content("ok", "text/html"); });
  const int port = other.bind_to_any_port("127.0.0.1");
  std::jthread thread([&] { other.listen_after_bind(); });
  while (!other.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto remote = make_remote_measurer("http://127.0.0.1:" + std::to_string(port), impatient());
  const auto foreign = HasSubstr("is another program at that port?");
  EXPECT_ERROR(remote->measure(fake_requests(task_, 1), {}, {}), ErrorKind::environment, foreign);
  EXPECT_ERROR(remote->provenance(task_), ErrorKind::environment, foreign);
  other.stop();
}

TEST_F(ClientTest, AnAnswerThatIsNestedWithoutEndIsAnError) {
  const std::string deep = "{\"error\": " + std::string(1'000'000, '[') + std::string(1'000'000, ']') + "}";
  for (const int status : {200, 404, 500}) {
    httplib::Server other;
    other.Get(".*", [&](const httplib::Request&, httplib::Response& response) {
      response.status = status;
      response.set_content(deep, "application/json");
    });
    const int port = other.bind_to_any_port("127.0.0.1");
    std::jthread thread([&] { other.listen_after_bind(); });
    while (!other.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const auto remote = make_remote_measurer("http://127.0.0.1:" + std::to_string(port), impatient());
    EXPECT_ERROR(remote->provenance(task_), ErrorKind::environment, HasSubstr("nested too deep"));
    other.stop();
  }
}

TEST_F(ClientTest, AnotherTaskOfThatNameIsRefused) {
  const auto device = make_fake_measurer();
  const RunningServer server(*device, {task_});
  files_.write("reference.cpp", std::string(kReferenceSource) + "// newer\n");
  const TaskPack newer = load_task_pack(files_.path());
  EXPECT_ERROR(make_remote_measurer(server.url(), impatient())->provenance(newer), ErrorKind::bad_data,
               HasSubstr("affine"));
}

TEST_F(ClientTest, AStopEndsSoonAndCancelsTheJobThere) {
  const auto device = make_fake_measurer(slow());
  const RunningServer server(*device, {task_});
  const auto remote = make_remote_measurer(server.url(), impatient());
  std::stop_source source;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_ERROR(remote->measure(
                   fake_requests(task_, 60), [&](auto, auto&) { source.request_stop(); }, source.get_token()),
               ErrorKind::interrupted, ::testing::_);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_EQ(make_remote_measurer(server.url(), impatient())->measure(fake_requests(task_, 2), {}, {}).size(), 2U);
}

TEST_F(ClientTest, WhatTheDeviceThrowsReachesTheClient) {
  FakeOptions broken;
  broken.script = [](const MeasureRequest&) -> Measurement {
    throw Error(ErrorKind::bad_data, "the seed and the reference disagree");
  };
  const auto device = make_fake_measurer(broken);
  const RunningServer server(*device, {task_});
  EXPECT_ERROR(make_remote_measurer(server.url(), impatient())->measure(fake_requests(task_, 1), {}, {}),
               ErrorKind::bad_data, HasSubstr("the seed and the reference disagree"));
}

TEST_F(ClientTest, AServerThatStartsAnewIsSentTheRestAgain) {
  const auto device = make_fake_measurer(slow());
  auto server = std::make_unique<RunningServer>(*device, std::vector<TaskPack>{task_});
  ServeOptions same_port;
  same_port.port = server->port();
  RemoteOptions options = impatient();
  options.patience_s = 20;
  const auto remote = make_remote_measurer(server->url(), options);
  int reported = 0;
  std::jthread restart;
  const auto results =
      remote->measure(fake_requests(task_, 40),
                      [&](auto, auto&) {
                        if (++reported != 5) return;
                        restart = std::jthread([&] {
                          server.reset();
                          server = std::make_unique<RunningServer>(*device, std::vector<TaskPack>{task_}, same_port);
                        });
                      },
                      {});
  EXPECT_EQ(reported, 40) << "every result once";
  for (const Measurement& result : results) EXPECT_FALSE(result.cases.empty());
}

TEST_F(ClientTest, SeveralClientsShareOneDevice) {
  const auto device = make_fake_measurer();
  ServeOptions roomy;
  roomy.jobs.queued = 3;
  const RunningServer server(*device, {task_}, roomy);
  std::vector<std::jthread> clients;
  std::vector<std::size_t> counts(6, 0);
  for (std::size_t c = 0; c < counts.size(); ++c) {
    clients.emplace_back([&, c] {
      RemoteOptions options = impatient();
      options.patience_s = 30;
      options.job_size = 5;
      const auto remote = make_remote_measurer(server.url(), options);
      remote->measure(fake_requests(task_, 15, "client " + std::to_string(c)), [&, c](auto, auto&) { ++counts[c]; },
                      {});
    });
  }
  clients.clear();
  EXPECT_THAT(counts, ::testing::Each(15U));
}

}  // namespace
}  // namespace kc::test
