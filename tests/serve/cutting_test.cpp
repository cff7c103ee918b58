#include "serve/cutting.h"

#include <gmock/gmock.h>

#include "tests/measure/fake_task.h"

namespace kc::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Client, CutsJobsByCountTaskFreshnessAndBytes) {
  const TaskPack one = fake_task("one"), two = fake_task("two");
  auto requests = fake_requests(one, 5);
  EXPECT_THAT(cut_into_jobs({}, 2, 100000), IsEmpty());
  EXPECT_THAT(cut_into_jobs(requests, 64, 100000), ElementsAre(5));
  EXPECT_THAT(cut_into_jobs(requests, 2, 100000), ElementsAre(2, 4, 5));
  requests[1].fresh = true;
  requests[4].task = &two;
  EXPECT_THAT(cut_into_jobs(requests, 64, 100000), ElementsAre(1, 2, 4, 5));
  requests = fake_requests(one, 5);
  for (MeasureRequest& request : requests) request.candidate.kernel.source.assign(1000, 'x');
  EXPECT_THAT(cut_into_jobs(requests, 64, 2500), ElementsAre(2, 4, 5));
  requests[2].candidate.kernel.source.assign(5000, 'x');
  EXPECT_THAT(cut_into_jobs(requests, 64, 2500), ElementsAre(2, 3, 5)) << "a long one goes alone";
  requests[2].candidate.kernel.source.assign(1000, '\n');  // "\n" takes two bytes
  EXPECT_THAT(cut_into_jobs(requests, 64, 2500), ElementsAre(2, 3, 5));
}

}  // namespace
}  // namespace kc::test
