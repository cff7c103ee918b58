// Several sessions in one call, with and without cores for compiling meanwhile.
#include <gmock/gmock.h>

#include <signal.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "tests/measure/task_files.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

class HostSessionsTest : public ::testing::Test {
 protected:
  std::vector<MeasureRequest> requests(int count) const {
    std::vector<MeasureRequest> requests;
    for (int i = 0; i < count; ++i) {
      const bool broken = i % 7 == 3;
      Candidate candidate =
          candidate_of((broken ? "#error broken\n" : "") + ("// " + std::to_string(i) + "\n") + kHonestSource);
      candidate.name = "kernel" + std::to_string(i) + ".cpp";
      requests.push_back({&pack_, std::move(candidate)});
    }
    return requests;
  }
  TaskFiles files_;
  TaskPack pack_ = load_task_pack(files_.path());
};

TEST_F(HostSessionsTest, CompilingMeanwhileChangesNoResultAndNoOrder) {
  for (const std::int64_t cores : {1, 3}) {
    HostOptions options = quick_options();
    options.time_budget_s = 0.02;
    options.cores = cores;
    const auto asked = requests(20);
    std::vector<std::size_t> order;
    const auto results = make_host_measurer(options, 1)
                             ->measure(asked, [&](std::size_t i, const Measurement&) { order.push_back(i); }, {});
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i].kernel_name, asked[i].candidate.name);
      EXPECT_EQ(order[i], i);
      const bool broken = i % 7 == 3;
      EXPECT_EQ(results[i].status, broken ? MeasurementStatus::compile_error : MeasurementStatus::ok) << results[i].log;
      if (broken) {
        EXPECT_THAT(results[i].log, HasSubstr(asked[i].candidate.name + ":1"));
      }
      EXPECT_EQ(results[i].facts.at("threads"), 1);
      EXPECT_GE(results[i].facts.at("load_1min"), 0);
    }
  }
}

// Processes that this thread has started and that still run, as the system lists them.
std::string children() {
  std::string text;
  std::getline(std::ifstream("/proc/thread-self/children"), text);
  return text;
}

TEST_F(HostSessionsTest, ASearchThatSendsOneCandidateAtATimeKeepsItsSession) {
  const auto measurer = make_host_measurer(quick_options(), 1);
  const auto measure_one = [&](const MeasureRequest& request) {
    const Measurement result = measurer->measure(std::span(&request, 1), {}, {}).at(0);
    EXPECT_EQ(result.status, MeasurementStatus::ok) << result.log;
    return children();
  };
  const auto asked = requests(3);
  const std::string first = measure_one(asked[0]);
  EXPECT_NE(first, "");
  EXPECT_THAT(measure_one(asked[1]), ::testing::StartsWith(first));
  const TaskPack twin = pack_;
  EXPECT_THAT(measure_one({&twin, asked[2].candidate}), ::testing::Not(HasSubstr(first)));
  std::string other;
  std::thread([&] { other = measure_one(asked[0]); }).join();
  EXPECT_NE(other, "");
  measure_one(asked[0]);  // the processes of the thread that has ended are gone: a session of its own
}

// Waits until each has ended, without reaping it: that is the session's.
void kill_processes(const std::string& list) {
  std::istringstream ids(list);
  for (pid_t id = 0; ids >> id;) {
    ::kill(id, SIGKILL);
    siginfo_t info = {};
    ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(id), &info, WEXITED | WNOWAIT), 0);
  }
}

TEST_F(HostSessionsTest, ASessionWhoseProcessesSomebodyKilledIsNotUsedAgain) {
  const auto measurer = make_host_measurer(quick_options(), 1);
  const auto asked = requests(3);
  const auto measure_one = [&](std::size_t i) {
    const Measurement result = measurer->measure(std::span(&asked[i], 1), {}, {}).at(0);
    EXPECT_EQ(result.status, MeasurementStatus::ok) << result.log;
  };
  measure_one(0);
  kill_processes(children());
  measure_one(1);
  std::string last = children();  // of the seeds' and the reference's processes, one is enough
  last.erase(0, last.find_last_of(' ', last.find_last_not_of(' ')) + 1);
  kill_processes(last);
  measure_one(2);
}

// Waits until it is.
void stop_process(pid_t id) {
  ::kill(id, SIGSTOP);
  siginfo_t info = {};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(id), &info, WSTOPPED | WNOWAIT), 0);
}

TEST_F(HostSessionsTest, ASessionWithAStoppedProcessEndsAndAnotherOneAnswers) {
  const auto measurer = make_host_measurer(quick_options(), 1);
  const auto asked = requests(3);
  const auto measure_one = [&](std::size_t i) {
    const Measurement result = measurer->measure(std::span(&asked[i], 1), {}, {}).at(0);
    EXPECT_EQ(result.status, MeasurementStatus::ok) << result.log;
    std::istringstream list(children());
    return std::vector<pid_t>(std::istream_iterator<pid_t>(list), {});
  };
  std::vector<pid_t> before = measure_one(0);
  for (const bool of_reference : {true, false}) {  // the reference's is the first that a session starts
    ASSERT_GE(before.size(), 2);
    stop_process(of_reference ? before.front() : before.back());
    const std::vector<pid_t> after = measure_one(of_reference ? 1 : 2);
    for (const pid_t id : before) EXPECT_THAT(after, ::testing::Not(::testing::Contains(id)));
    before = after;
  }
}

TEST_F(HostSessionsTest, ASessionWhoseProcessesRunAgainGoesOn) {
  const auto measurer = make_host_measurer(quick_options(), 1);
  const auto asked = requests(2);
  measurer->measure(std::span(&asked[0], 1), {}, {});
  const std::string before = children();
  const pid_t first = std::stoi(before);
  stop_process(first);
  ::kill(first, SIGCONT);
  EXPECT_EQ(measurer->measure(std::span(&asked[1], 1), {}, {}).at(0).status, MeasurementStatus::ok);
  EXPECT_THAT(children(), ::testing::StartsWith(before));
}

TEST_F(HostSessionsTest, AStopEndsASlowCandidateAfterItsTurnAndTheNextOneIsMeasured) {
  HostOptions options = quick_options();
  options.run_timeout_s = 5;
  const auto measurer = make_host_measurer(options, 1);
  auto asked = requests(1);
  ASSERT_EQ(measurer->measure(asked, {}, {}).at(0).status,
            MeasurementStatus::ok);  // reference, seed and noise are there
  const std::string before = children();
  const std::string sleeping = "struct timespec t = {0, 300000000}; nanosleep(&t, nullptr);\n  const float* x";
  const std::string slow = "#include <time.h>\n" + replaced(kHonestSource, "const float* x", sleeping);
  const MeasureRequest request{&pack_, candidate_of(slow)};
  std::stop_source source;
  std::chrono::steady_clock::time_point stopped;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::seconds(2));
    stopped = std::chrono::steady_clock::now();
    source.request_stop();
  });
  EXPECT_ERROR(measurer->measure(std::span(&request, 1), {}, source.get_token()), ErrorKind::interrupted, ::testing::_);
  stopper.join();
  EXPECT_LT(std::chrono::steady_clock::now() - stopped, std::chrono::seconds(2));
  EXPECT_NE(before, "");
  EXPECT_EQ(children(), "");  // neither the candidate's process nor those of the session that it was in
  EXPECT_EQ(measurer->measure(asked, {}, {}).at(0).status, MeasurementStatus::ok);
}

TEST_F(HostSessionsTest, NoSessionServesMoreThanSixteenCandidates) {
  HostOptions options = quick_options();
  options.time_budget_s = 0.02;
  const auto measurer = make_host_measurer(options, 1);
  measurer->measure(requests(12), {}, {});
  const std::string first = children();
  EXPECT_NE(first, "");
  measurer->measure(requests(5), {}, {});
  EXPECT_THAT(children(), ::testing::Not(HasSubstr(first)));
}

TEST_F(HostSessionsTest, ACandidateInCIsMeasuredBesideASeedInCpp) {
  files_.write("task.yaml",
               replaced(kTaskYaml, "  - {source: honest.cpp}\n", "  - {source: honest.cpp}\n  - {source: plain.c}\n"));
  files_.write("plain.c", std::string(kHonestSource) + "/* in C: another text, hence another kernel */\n");
  const TaskPack pack = load_task_pack(files_.path());
  const MeasureRequest request{&pack, list_candidates(pack).back()};
  const auto measurer = make_host_measurer(quick_options(), 1);
  const Measurement result = measurer->measure(std::span(&request, 1), {}, {}).at(0);
  EXPECT_EQ(result.status, MeasurementStatus::ok) << result.log;
  EXPECT_EQ(result.kernel.language, "c");
  EXPECT_THAT(result.provenance.compiler, HasSubstr("; "));
  EXPECT_THAT(result.provenance.compiler_flags, HasSubstr("-std=c17"));
  EXPECT_THAT(measurer->provenance(pack_).compiler_flags, ::testing::Not(HasSubstr("-std=c17")));
}

}  // namespace
}  // namespace kc::test
