// The whole GPU timings bundle, where it is present.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "dataset/import_rows.h"
#include "dataset/pairs.h"
#include "tests/dataset/examples.h"

namespace kc {
namespace {

std::optional<std::filesystem::path> bundle() {
  const char* given = std::getenv("KERNELCAST_SHARED_DATA");
  const std::filesystem::path data =
      given != nullptr ? std::filesystem::path(given) : std::filesystem::path(KC_SOURCE_DIR) / "../shared/data";
  if (!std::filesystem::exists(data / "gpu-timings/rows_tuned.jsonl.gz")) return std::nullopt;
  return data / "gpu-timings";
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(Bundle, IsImportedStoredSplitAndDrawnFrom) {
  const auto folder = bundle();
  if (!folder) GTEST_SKIP() << "no GPU timings bundle; KERNELCAST_SHARED_DATA names the folder that holds gpu-timings";
  ImportReport report;
  auto start = std::chrono::steady_clock::now();
  const Store imported = import_timing_rows(*folder, report);
  std::printf("import %.2f s\n", seconds_since(start));
  EXPECT_EQ(report.rows, 28410 + 1764);
  EXPECT_EQ(imported.measurements.size(), 28410U + 579U);
  EXPECT_EQ(report.ratios, 5526);  // speedups named in rows_llm

  const examples::TemporaryFolder work;
  start = std::chrono::steady_clock::now();
  write_store(work / "a.h5", imported);
  std::printf("write %.2f s, %.2f MB\n", seconds_since(start),
              1e-6 * static_cast<double>(std::filesystem::file_size(work / "a.h5")));
  start = std::chrono::steady_clock::now();
  const Store store = read_store(work / "a.h5");
  std::printf("read %.2f s\n", seconds_since(start));
  ASSERT_EQ(store.measurements.size(), imported.measurements.size());

  start = std::chrono::steady_clock::now();
  const auto parts = assign_parts(store, {.held_out_tasks = {"gemm_cuda", "expdist"}});
  std::printf("split %.2f s\n", seconds_since(start));
  start = std::chrono::steady_clock::now();
  EXPECT_TRUE(find_leaks(store, parts).empty());
  std::printf("leak check %.2f s\n", seconds_since(start));

  start = std::chrono::steady_clock::now();
  const std::vector<Part> all(store.measurements.size(), Part::train);
  const PairSampler sampler(store, all, Part::train);
  std::printf("sampler %.2f s\n", seconds_since(start));
  const auto available = sampler.available();
  const double pairs = static_cast<double>(std::accumulate(available.begin(), available.end(), std::int64_t{0}));
  std::printf("%.1f M pairs, shares", pairs * 1e-6);
  for (const std::int64_t n : available) std::printf(" %.3f", static_cast<double>(n) / pairs);
  std::printf("\n");
  EXPECT_GT(pairs, 30e6);
  for (const std::int64_t n : available) EXPECT_GT(static_cast<double>(n), 0.01 * pairs);

  start = std::chrono::steady_clock::now();
  const PairDraw draw = sampler.draw_balanced({.count = 40000}, RngStream(1));
  const double seconds = seconds_since(start);
  std::printf("draw of 40,000 %.2f s\n", seconds);
  EXPECT_EQ(draw.rows.size(), 40000U);
  EXPECT_LT(seconds, 5);  // a fraction of a second on an idle machine
}

}  // namespace
}  // namespace kc
