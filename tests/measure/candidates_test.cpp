#include <gmock/gmock.h>

#include <set>

#include "base/hash.h"
#include "measure/task_pack.h"
#include "tests/measure/task_files.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTemplateLines = R"(candidates:
  - source: honest.cpp
    tunables:
      TILE: [8, 12, 16]
      UNROLL: [1, 4, 8]
    constraints: ["TILE % UNROLL == 0", "UNROLL > 1"]
  - {source: plain.cpp, expect: incorrect}
)";

TaskFiles template_files(const std::string& lines) {
  std::string yaml = replaced(kTaskYaml, "candidates:\n  - {source: honest.cpp}\n", lines);
  yaml = replaced(yaml, "seed: {source: honest.cpp}", "seed: {source: honest.cpp, set: {UNROLL: 4, TILE: 8}}");
  return TaskFiles(Files{{"task.yaml", yaml}, {"plain.cpp", kHonestSource}});
}

std::vector<std::string> names_of(const std::vector<Candidate>& candidates) {
  std::vector<std::string> names;
  for (const Candidate& candidate : candidates) names.push_back(candidate.name);
  return names;
}

TEST(Candidates, AreTheSeedThenEveryInstanceThatMeetsTheConstraints) {
  const TaskFiles files = template_files(kTemplateLines);
  const std::vector<Candidate> candidates = list_candidates(load_task_pack(files.path()));
  EXPECT_THAT(names_of(candidates), ::testing::ElementsAre("honest.cpp TILE=8 UNROLL=4", "honest.cpp TILE=8 UNROLL=8",
                                                           "honest.cpp TILE=12 UNROLL=4", "honest.cpp TILE=16 UNROLL=4",
                                                           "honest.cpp TILE=16 UNROLL=8", "plain.cpp"));
  EXPECT_TRUE(candidates[0].is_seed);
  EXPECT_FALSE(candidates[1].is_seed);
  EXPECT_EQ(candidates[5].expect, "incorrect");
  EXPECT_EQ(candidates[1].kernel.template_id, sha256_hex(kHonestSource));
  EXPECT_EQ(candidates[1].kernel.template_id, candidates[0].kernel.template_id);
}

TEST(Candidates, DrawTheSameInstancesEachTimeWhenThereAreTooMany) {
  const TaskFiles files = template_files(replaced(
      kTemplateLines, "    constraints: [\"TILE % UNROLL == 0\", \"UNROLL > 1\"]\n", "    max_instances: 4\n"));
  const TaskPack pack = load_task_pack(files.path());
  const std::vector<std::string> names = names_of(list_candidates(pack));
  EXPECT_EQ(names, names_of(list_candidates(pack)));
  EXPECT_LE(names.size(), 6);  // seed, four drawn (one may be the seed), plain
  EXPECT_GE(names.size(), 5);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
}

TEST(Candidates, UnitHoldsContractDefinesAndSourceWithItsOwnLineNumbers) {
  const TaskFiles files = template_files(kTemplateLines);
  const TaskPack pack = load_task_pack(files.path());
  const std::string unit = candidate_unit(pack, list_candidates(pack)[1]);
  EXPECT_EQ(unit,
            "struct Case { long long N; };\n"
            "extern \"C\" void run(const Case* c, const void* const* inputs, void* const* outputs);\n"
            "#define TILE 8\n#define UNROLL 8\n#line 1 \"honest.cpp\"\n" +
                std::string(kHonestSource));
}

TEST(Candidates, RefuseAConstraintOverAnUnknownTunable) {
  const TaskFiles files = template_files(replaced(kTemplateLines, "UNROLL > 1", "VECTOR > 1"));
  EXPECT_ERROR(load_task_pack(files.path()), ErrorKind::bad_data, HasSubstr("task.yaml:19"));
}

TEST(Candidates, RefuseASeedThatLeavesATunableOpen) {
  const TaskFiles files =
      template_files(replaced(kTemplateLines, "UNROLL: [1, 4, 8]", "UNROLL: [1, 4, 8]\n      DEPTH: [1]"));
  EXPECT_ERROR(load_task_pack(files.path()), ErrorKind::bad_data, HasSubstr("does not set the tunable DEPTH"));
}

}  // namespace
}  // namespace kc::test
