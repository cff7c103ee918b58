#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "dataset/import_rows.h"
#include "tests/dataset/examples.h"

namespace kc {
namespace {

using examples::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

void write_bundle(const TemporaryFolder& folder, const std::string& rows) {
  std::ofstream(folder / "kernels_a.jsonl") << R"({"kernel_file":"t.cu","source":"int x = Z + A;"})"
                                               "\n"
                                            << R"({"kernel_file":"k.py","source":"import torch"})"
                                               "\n"
                                            << R"({"kernel_file":"r.py","source":"import torch.nn"})"
                                               "\n";
  std::ofstream(folder / "tasks.json")
      << R"({"tune":{"block_names":["Z",null,null],"compiler_options":["-O3","-std=c++11"]}})";
  std::ofstream(folder / "rows_a.jsonl") << rows;
}

std::string message_for(const std::string& rows) {
  const TemporaryFolder folder;
  write_bundle(folder, rows);
  ImportReport report;
  try {
    import_timing_rows(folder.path(), report);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_data);
    return error.what();
  }
  return "no error";
}

constexpr const char* kTuned =
    R"({"source":"s","task":"tune","device":"D","kernel_file":"t.cu","params":{"Z":8,"A":2},"status":"ok",)"
    R"("runtime_ms":[0.5,0.25],"repeats":2,"sel":"top1pct","kernel_name":"k","lang":"cuda","tool":"kernel_tuner",)"
    R"("grid":[4,1,1],"block":[8,1,1],"work":2})"
    "\n";

TEST(ImportRows, ATunedRowBecomesAMeasurementWithEveryRepeat) {
  const TemporaryFolder folder;
  write_bundle(folder, kTuned);
  ImportReport report;
  const Store store = import_timing_rows(folder.path(), report);
  ASSERT_EQ(store.measurements.size(), 1U);
  const Measurement& m = store.measurements[0];
  EXPECT_THAT(m.kernel.parameters, ElementsAre(Pair("Z", "8"), Pair("A", "2")));
  ASSERT_EQ(m.cases.size(), 1U);
  EXPECT_THAT(m.cases[0].candidate_ns, ElementsAre(500000.F, 250000.F));
  EXPECT_TRUE(m.cases[0].reference_ns.empty());
  EXPECT_EQ(m.cases[0].work, 2);
  EXPECT_EQ(m.provenance.compiler_flags, "-O3 -std=c++11");
  EXPECT_EQ(m.provenance.source, "s#top1pct");
  EXPECT_THAT(instantiated_source(m.kernel),
              HasSubstr("#define Z 8\n#define Z 8\n#define A 2\n#define kernel_tuner 1"));
  EXPECT_EQ(report.rows, 1);
}

TEST(ImportRows, SpeedupsWithoutRuntimeBecomeRatios) {
  const TemporaryFolder folder;
  write_bundle(folder, R"({"source":"s","task":"kb/1","device":"D","kernel_file":"k.py","ref_file":"r.py",)"
                       R"("lang":"python+cuda","params":{},"status":"ok","runtime_ms":null,"repeats":null,)"
                       R"("speedup":{"eager":1.5,"graph":0.5}})");
  ImportReport report;
  const Store store = import_timing_rows(folder.path(), report);
  EXPECT_TRUE(store.measurements.empty());
  ASSERT_EQ(store.ratios.size(), 2U);
  EXPECT_EQ(store.ratios[1].baseline, "graph");
  EXPECT_EQ(store.ratios[1].value, 0.5);
  EXPECT_EQ(store.ratios[1].kernel.language, "python");
  EXPECT_EQ(store.ratios[1].reference.source, "import torch.nn");
}

TEST(ImportRows, MeansAndFailuresBecomeMeasurements) {
  const TemporaryFolder folder;
  write_bundle(folder, R"({"source":"s","task":"kb/1","device":"D","kernel_file":"k.py","lang":"python+cuda",)"
                       R"("params":{},"status":"ok","runtime_ms":2.0,"repeats":100})"
                       "\n"
                       R"({"source":"s","task":"kb/1","device":"D","kernel_file":"r.py","lang":"python+cuda",)"
                       R"("params":{},"status":"incorrect","runtime_ms":null,"repeats":0})"
                       "\n");
  ImportReport report;
  const Store store = import_timing_rows(folder.path(), report);
  ASSERT_EQ(store.measurements.size(), 2U);
  EXPECT_THAT(store.measurements[0].cases[0].candidate_ns, ElementsAre(2e6F));
  EXPECT_EQ(store.measurements[1].status, MeasurementStatus::incorrect);
  EXPECT_TRUE(store.measurements[1].cases.empty());
}

TEST(ImportRows, BadRowsAreNamedByFileAndLine) {
  const std::string row = kTuned;
  EXPECT_THAT(message_for(row + "{\"task\":"), HasSubstr("rows_a.jsonl:2:"));
  EXPECT_THAT(message_for(row + "{}"), HasSubstr("rows_a.jsonl:2:"));
  const std::string open(1'000'000, '['), close(1'000'000, ']');
  EXPECT_THAT(message_for(row + "{\"params\":" + open + close + "}\n"),
              testing::AllOf(HasSubstr("rows_a.jsonl:2:"), HasSubstr("deep")));
  std::string unknown = row;
  unknown.replace(unknown.find("t.cu"), 4, "u.cu");
  EXPECT_THAT(message_for(unknown), testing::AllOf(HasSubstr("rows_a.jsonl:1:"), HasSubstr("'u.cu'")));
  std::string status = row;
  status.replace(status.find("\"ok\""), 4, "\"good\"");
  EXPECT_THAT(message_for(status), HasSubstr("good"));
}

TEST(ImportRows, AFolderWithoutRowsIsRefused) {
  const TemporaryFolder folder;
  ImportReport report;
  EXPECT_THROW(import_timing_rows(folder.path(), report), Error);
}

TEST(ImportPublished, PairsBecomeRatiosAndBinsAreTakenAnew) {
  const TemporaryFolder folder;
  // S = 1.2 is bin 5 by the table of edges, and 4 by the published formula.
  std::ofstream(folder / "e.jsonl")
      << R"({"comparison_id":"c1","pack":"p","anchor_code":"import a","candidate_code":"import b","hardware":"H",)"
         R"("aggregated_speedup":1.2,"true_bin":4,"source_id":"s"})"
         "\n"
      << R"({"row_id":"r1","pack":"p","anchor_code":"__global__ void f();","candidate_code":"import b",)"
         R"("hardware":"H","aggregated_speedup":0.3,"relative_bin":2,"pair_type":"seed","source_id":"s"})"
         "\n"
      << R"({"pair_id":"d1","problem_id":"p","parent_code":"import a","child_code":"import b","hardware":"H",)"
         R"("g_speedup":1.5,"true_bin":6,"source_id":"s"})"
         "\n";
  ImportReport report;
  const Store store = import_published_rows(folder / "e.jsonl", report);
  ASSERT_EQ(store.ratios.size(), 3U);
  EXPECT_EQ(store.ratios[0].reference.source, "import a");
  EXPECT_EQ(store.ratios[0].source, "s:c1");
  EXPECT_EQ(store.ratios[1].baseline, "seed");
  EXPECT_EQ(store.ratios[1].reference.language, "cuda");
  EXPECT_EQ(report.bins_stored, 3);
  EXPECT_EQ(report.bins_disagreeing, 1);
  EXPECT_EQ(report.bins_disagreeing_published, 2);
}

}  // namespace
}  // namespace kc
