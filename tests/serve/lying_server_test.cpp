// The client before a server that is broken, malicious, or something else. What is stored must not depend on its mood.
#include <gmock/gmock.h>
#include <httplib.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>

#include "serve/protocol.h"
#include "tests/serve/served_task.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class LyingServer : public ::testing::Test {
 protected:
  LyingServer() {
    const auto say = [](httplib::Response& response, const std::string& text, int status) {
      response.status = status;
      response.set_content(text, "application/json");
    };
    http_.Get("/v1/status", [=, this](const auto&, auto& response) { say(response, status_, status_code_); });
    http_.Get("/v1/tasks/affine", [=, this](const auto&, auto& response) { say(response, task_answer_.dump(), 200); });
    http_.Get("/v1/jobs/.*", [=, this](const auto&, auto& response) { say(response, job_.dump(), job_code_); });
    http_.Post("/v1/jobs", [=, this](const auto&, auto& response) {
      ++posts_;
      say(response, "{}", 201);
    });
    const int port = http_.bind_to_any_port("127.0.0.1");
    url_ = "http://127.0.0.1:" + std::to_string(port);
    thread_ = std::jthread([this] { http_.listen_after_bind(); });
    while (!http_.is_running()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    const Measurement honest = make_fake_measurer()->measure(fake_requests(task_, 1), {}, {}).at(0);
    result_ = to_json(honest);
    task_answer_ = {{"fingerprint", task_fingerprint(task_)}, {"provenance", to_json(honest.provenance)}};
  }
  ~LyingServer() override { http_.stop(); }

  // Of a job of one candidate.
  Measurement measure(bool ask_before = false) {
    const auto remote = make_remote_measurer(url_, impatient());
    if (ask_before) remote->provenance(task_);
    return remote->measure(fake_requests(task_, 1), {}, {}).at(0);
  }
  Measurement measure_result(const json& result, bool ask_before = false) {
    job_ = {{"state", "done"}, {"results", {{{"index", 0}, {"measurement", result}}}}};
    return measure(ask_before);
  }
  json with(const std::string& pointer, const json& value) const {
    json result = result_;
    result[json::json_pointer(pointer)] = value;
    return result;
  }
  // An error that names the server and that it is none of ours.
  auto foreign(const std::string& what) const {
    return AllOf(HasSubstr(url_), HasSubstr("another program at that port?"), HasSubstr(what),
                 Not(HasSubstr("json.exception")));
  }

  TaskFiles files_;
  TaskPack task_ = load_task_pack(files_.path());
  json result_, task_answer_, job_;
  std::string status_ = json{{"protocol", kServeProtocol}, {"kind", "host"}}.dump();
  int status_code_ = 200, job_code_ = 200;
  std::atomic<int> posts_ = 0;
  std::string url_;
  httplib::Server http_;
  std::jthread thread_;
};

TEST_F(LyingServer, AnHonestResultIsTaken) {
  EXPECT_EQ(measure_result(result_, true).cases.size(), 2U);
  json imported = with("/cases/0/reference_ns", json::array());
  imported["cases"][1]["reference_ns"] = json::array();
  EXPECT_EQ(measure_result(imported).cases.size(), 2U) << "imported labels have no reference side";
}

TEST_F(LyingServer, AStatusThatIsNotOursIsAClearError) {
  const std::pair<const char*, const char*> faults[] = {{R"({"protocol": "2", "kind": "host"})", "protocol"},
                                                        {R"({"protocol": 2.5, "kind": "host"})", "protocol"},
                                                        {R"({"protocol": null, "kind": "host"})", "protocol"},
                                                        {R"({"protocol": 2, "kind": 5})", "kind"},
                                                        {R"({"protocol": 2, "kind": "toaster"})", "toaster"},
                                                        {"<html>hi</html>", "parse error"},
                                                        {"[]", "JSON object"},
                                                        {"", "empty"}};
  for (const auto& [text, what] : faults) {
    status_ = text;
    EXPECT_ERROR(make_remote_measurer(url_, impatient())->kind(), ErrorKind::environment, foreign(what));
    EXPECT_ERROR(measure(), ErrorKind::environment, foreign(what));
  }
  status_ = "<html>no such page</html>";
  status_code_ = 404;
  EXPECT_ERROR(measure(), ErrorKind::environment, foreign("HTTP 404"));
}

TEST_F(LyingServer, ATaskThatIsNotDescribedAsOursIsAClearError) {
  const auto provenance = [&] { return make_remote_measurer(url_, impatient())->provenance(task_); };
  const json honest = task_answer_;
  for (const json& wrong : {json(5), json::object(), json::array({1})}) {
    task_answer_ = honest;
    task_answer_["provenance"] = wrong;
    EXPECT_ERROR(provenance(), ErrorKind::environment, foreign(""));
  }
  task_answer_ = honest;
  task_answer_["provenance"]["noise_floor"] = "x";
  EXPECT_ERROR(provenance(), ErrorKind::environment, foreign("'noise_floor'"));
  task_answer_["fingerprint"] = 5;
  EXPECT_ERROR(provenance(), ErrorKind::environment, foreign("'fingerprint'"));
}

TEST_F(LyingServer, AnswersOfAWrongTypeAreClearErrors) {
  const std::pair<json, const char*> faults[] = {{{{"state", "weird"}}, "weird"},
                                                 {{{"state", 1}}, "'state'"},
                                                 {{{"state", "done"}, {"results", nullptr}}, "'results'"},
                                                 {{{"state", "done"}}, "lacks results"},
                                                 {{{"state", "failed"}, {"failure", 5}}, "'message'"},
                                                 {{{"state", "done"}, {"results", {5}}}, "measurement"}};
  for (const auto& [answer, what] : faults) {
    job_ = answer;
    EXPECT_ERROR(measure(), ErrorKind::environment, foreign(what));
  }
  for (const json& index : {json(-1), json(0.7), json("0"), json(1)}) {
    job_ = {{"state", "done"}, {"results", {{{"index", index}, {"measurement", result_}}}}};
    EXPECT_ERROR(measure(), ErrorKind::environment, foreign(""));
  }
  EXPECT_ERROR(measure_result(with("/status", "wonderful")), ErrorKind::environment, foreign("wonderful"));
  EXPECT_ERROR(measure_result(with("/cases", "none")), ErrorKind::environment, foreign("'cases'"));
}

TEST_F(LyingServer, AJobThatFailedWithoutAReasonSaysSo) {
  job_ = {{"state", "failed"}};
  EXPECT_ERROR(measure(), ErrorKind::environment, AllOf(HasSubstr(url_), HasSubstr("without a reason")));
  job_["failure"] = {{"kind", 99}, {"message", "the \x1b[31mdisk\n is full"}};
  EXPECT_ERROR(measure(), ErrorKind::environment, HasSubstr("the \\x1b[31mdisk\n is full"));
}

TEST_F(LyingServer, ResultsThatMustNotBeStoredAreRefused) {
  const std::string times = "/cases/1/candidate_ns";
  const json rounds = result_.at("cases").at(1).at("candidate_ns");
  const auto times_of = [&](const json& time) { return with(times, json::array_t(rounds.size(), time)); };
  const std::pair<json, const char*> faults[] = {
      {with("/task", "other"), "task 'other'"},
      {with("/cases", json::array()), "without a case"},
      {with(times, json::array()), "no rounds"},
      {with(times, {1.0, 2.0}), "2 rounds"},
      {times_of(0.0), "above 0"},
      {times_of(-1.0), "above 0"},
      {times_of(1e300), "above 0"},
      {times_of(1e16), "above 0"},
      {with("/cases/1/work", -1.0), "work"},
      {with("/cases/1/name", "other"), "the cases of the task"},
      {with("/cases", json::array({result_["cases"][0]})), "the cases of the task"},
      {with("/facts/task_revision", 1.0), "another state of the task"}};
  for (const auto& [result, what] : faults) {
    EXPECT_ERROR(measure_result(result), ErrorKind::environment,
                 AllOf(HasSubstr(url_), HasSubstr("'kernel 0.cpp'"), HasSubstr(what)));
  }
}

// A proxy whose program is gone, say.
TEST_F(LyingServer, OneThatIsUnavailableForGoodIsNoLongerWaitedFor) {
  status_code_ = 503;
  EXPECT_ERROR(measure(), ErrorKind::environment, foreign("HTTP 503"));
}

TEST_F(LyingServer, ResultsOfAnotherDeviceThanItAnnouncedAreRefused) {
  for (const char* key : {"device", "compiler", "harness_version"}) {
    const json other = with(std::string("/provenance/") + key, "other");
    EXPECT_EQ(measure_result(other).cases.size(), 2U) << "nothing was announced";
    EXPECT_ERROR(measure_result(other, true), ErrorKind::environment,
                 AllOf(HasSubstr("'other'"), HasSubstr("announced")));
  }
}

TEST_F(LyingServer, TextsAreCutAndHoldNoControlCharacters) {
  json wrong = with("/status", "incorrect");
  wrong["log"] = "\x1b[31mred\n\t" + std::string(100000, 'z');
  wrong["kernel_name"] = "\x1b[31mother";
  wrong["is_seed"] = true;
  const Measurement got = measure_result(wrong);
  EXPECT_THAT(got.log,
              AllOf(HasSubstr("\\x1b[31mred\n\tzz"), Not(HasSubstr("\x1b")), HasSubstr("[cut: it has 100010")));
  EXPECT_LT(got.log.size(), 10000U);
  EXPECT_EQ(got.kernel_name, "kernel 0.cpp") << "what we know is not taken from the server";
  EXPECT_FALSE(got.is_seed);
  status_code_ = 400;
  status_ = json{{"error", "\x1b[31mred\n" + std::string(100000, 'z')}}.dump();
  try {
    measure();
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_THAT(std::string(error.what()), AllOf(HasSubstr("\\x1b[31mred\nzz"), HasSubstr("HTTP 400")));
    EXPECT_LT(std::string(error.what()).size(), 3000U);
  }
}

TEST_F(LyingServer, OneThatForgetsEveryJobIsGivenUp) {
  job_ = {{"error", "no such job"}};
  job_code_ = 404;
  const auto start = std::chrono::steady_clock::now();
  EXPECT_ERROR(measure(), ErrorKind::environment, AllOf(HasSubstr(url_), HasSubstr("forgot")));
  EXPECT_GT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1)) << "it pauses";
  EXPECT_LE(posts_, 6);
}

}  // namespace
}  // namespace kc::test
