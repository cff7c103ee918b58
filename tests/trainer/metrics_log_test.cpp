#include "trainer/metrics_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/temp_folder.h"

namespace kc {
namespace {

std::vector<std::int64_t> steps_in(const std::filesystem::path& file) {
  std::vector<std::int64_t> steps;
  for_each_json_line(file, [&](const nlohmann::json& line, std::size_t) { steps.push_back(line.at("step")); });
  return steps;
}

TEST(MetricsLog, WritesOneLinePerStep) {
  const test::TempFolder folder;
  MetricsLog log({folder.path(), "policy", 0, 0, {}});
  log.write(1, {{"reward/total", .5}});
  log.write(2, {{"reward/total", .75}});
  const auto file = folder / "metrics.jsonl";
  EXPECT_EQ(steps_in(file), (std::vector<std::int64_t>{1, 2}));
  for_each_json_line(file, [&](const nlohmann::json& line, std::size_t) {
    EXPECT_EQ(line.at("stage"), "policy");
    EXPECT_TRUE(line.contains("reward/total"));
  });
}

TEST(MetricsLog, DropsWhatAnInterruptedRunWrotePastTheCheckpoint) {
  const test::TempFolder folder;
  const auto file = folder.write("metrics.jsonl", "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"ste");
  MetricsLog log({folder.path(), "warmup", 2, 0, {}});
  log.write(3, {});
  EXPECT_EQ(steps_in(file), (std::vector<std::int64_t>{1, 2, 3}));
}

TEST(MetricsLog, DropsALineThatIsNestedWithoutEnd) {
  const test::TempFolder folder;
  const auto file = folder.write("metrics.jsonl", "{\"step\":1}\n{\"step\":2,\"x\":" + std::string(1'000'000, '[') +
                                                      std::string(1'000'000, ']') + "}\n");
  cut_metrics_after(file, 2);
  EXPECT_EQ(steps_in(file), std::vector<std::int64_t>{1});
}

TEST(MetricsLog, OpensANewEventsFileWhenResumed) {
  const test::TempFolder folder;
  {
    MetricsLog log({folder.path(), "warmup", 0, 0, {}});
  }
  {
    MetricsLog log({folder.path(), "warmup", 5, 0, {}});
  }
  const std::filesystem::directory_iterator files(folder / "tb");
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

}  // namespace
}  // namespace kc
