#include "serve/job_board.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "tests/measure/fake_task.h"

namespace kc::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class JobBoardTest : public ::testing::Test {
 protected:
  FakeOptions slow(double seconds_each) const {
    FakeOptions options;
    options.seconds_per_candidate = seconds_each;
    return options;
  }
  JobView finished(JobBoard& board, const std::string& id) const {
    JobView view;
    do {
      view = board.view(id, view.results.size() > 1000 ? 0 : 1000000, seconds(10)).value();
    } while (view.state == JobState::queued || view.state == JobState::running);
    return board.view(id, 0, milliseconds(0)).value();
  }
  TaskPack task_ = fake_task();
};

TEST_F(JobBoardTest, MeasuresJobsInOrderAndKeepsTheirResults) {
  const auto measurer = make_fake_measurer();
  JobBoard board(*measurer, {});
  EXPECT_EQ(board.submit("first", "a", fake_requests(task_, 3)), Submission::accepted);
  EXPECT_EQ(board.submit("second", "b", fake_requests(task_, 2, "other")), Submission::accepted);
  const JobView view = finished(board, "second");
  EXPECT_EQ(view.state, JobState::done);
  EXPECT_EQ(view.total, 2U);
  ASSERT_EQ(view.results.size(), 2U);
  EXPECT_EQ(view.results[1].second.kernel_name, "other 1.cpp");
  EXPECT_EQ(finished(board, "first").results.size(), 3U);
  EXPECT_EQ(board.view("first", 2, milliseconds(0))->results.size(), 1U);
  EXPECT_EQ(board.counts().measured, 5);
}

TEST_F(JobBoardTest, ARepeatedIdIsTheSameJobAndAnotherContentAConflict) {
  const auto measurer = make_fake_measurer();
  JobBoard board(*measurer, {});
  board.submit("id", "a", fake_requests(task_, 3));
  EXPECT_EQ(board.submit("id", "a", fake_requests(task_, 3)), Submission::known);
  EXPECT_EQ(board.submit("id", "b", fake_requests(task_, 3)), Submission::conflict);
  finished(board, "id");
  EXPECT_EQ(board.submit("id", "a", fake_requests(task_, 3)), Submission::known);
  EXPECT_EQ(board.counts().measured, 3);
}

TEST_F(JobBoardTest, AFullQueueRefusesAndForgetsOldResultsInOrder) {
  const auto measurer = make_fake_measurer(slow(0.02));
  JobBoard board(*measurer, {.queued = 2, .finished = 1});
  EXPECT_EQ(board.submit("1", "a", fake_requests(task_, 5)), Submission::accepted);
  EXPECT_EQ(board.submit("2", "a", fake_requests(task_, 1)), Submission::accepted);
  EXPECT_EQ(board.submit("3", "a", fake_requests(task_, 1)), Submission::full);
  EXPECT_EQ(finished(board, "2").results.size(), 1U);
  while (board.counts().waiting > 0) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_FALSE(board.view("1", 0, milliseconds(0)).has_value());
  EXPECT_EQ(board.submit("3", "a", fake_requests(task_, 1)), Submission::accepted);
}

TEST_F(JobBoardTest, CancelsWaitingAndRunningJobsAndGoesOn) {
  const auto measurer = make_fake_measurer(slow(0.05));
  JobBoard board(*measurer, {});
  board.submit("running", "a", fake_requests(task_, 1000));
  board.submit("waiting", "a", fake_requests(task_, 1000));
  board.submit("last", "a", fake_requests(task_, 1));
  board.view("running", 0, seconds(10));
  EXPECT_TRUE(board.cancel("waiting"));
  EXPECT_TRUE(board.cancel("running"));
  EXPECT_FALSE(board.cancel("unknown"));
  EXPECT_EQ(finished(board, "running").state, JobState::cancelled);
  EXPECT_EQ(finished(board, "waiting").state, JobState::cancelled);
  EXPECT_EQ(finished(board, "last").state, JobState::done);
}

TEST_F(JobBoardTest, AFailingDeviceFailsTheJobAndNotTheBoard) {
  int left = 1;
  FakeOptions options;
  options.script = [&left](const MeasureRequest&) -> Measurement {
    if (left-- == 0) throw Error(ErrorKind::environment, "the disk is full");
    return {};
  };
  const auto measurer = make_fake_measurer(options);
  JobBoard board(*measurer, {});
  board.submit("fails", "a", fake_requests(task_, 3));
  const JobView view = finished(board, "fails");
  EXPECT_EQ(view.state, JobState::failed);
  EXPECT_EQ(view.results.size(), 1U);
  EXPECT_STREQ(view.failure->what(), "the disk is full");
  board.submit("works", "a", fake_requests(task_, 1));
  EXPECT_EQ(finished(board, "works").state, JobState::done);
}

TEST_F(JobBoardTest, EndsAtOnceWithJobsUnfinished) {
  const auto measurer = make_fake_measurer(slow(0.05));
  const auto start = std::chrono::steady_clock::now();
  {
    JobBoard board(*measurer, {});
    board.submit("long", "a", fake_requests(task_, 10000));
    board.submit("next", "a", fake_requests(task_, 10000));
    board.view("long", 0, seconds(10));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(10));
}

}  // namespace
}  // namespace kc::test
