#include "serve/protocol.h"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "serve/token.h"
#include "tests/measure/fake_task.h"
#include "tests/measure/task_files.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(Protocol, AMeasurementComesBackAsItWasSent) {
  const TaskPack task = fake_task();
  Measurement sent = make_fake_measurer()->measure(fake_requests(task, 1), {}, {}).at(0);
  sent.log = "warning";
  sent.facts = {{"load_1min", 1.25}, {"registers", 40}};
  sent.cases[0].candidate_ns[0] = 123.45678F;
  sent.provenance.noise_floor = 0.1 + 0.2;
  const Measurement got = measurement_of(parse_object(to_json(sent).dump()));
  EXPECT_EQ(got.cases[0].candidate_ns, sent.cases[0].candidate_ns);
  EXPECT_EQ(got.cases[0].reference_ns, sent.cases[0].reference_ns);
  EXPECT_EQ(got.facts, sent.facts);
  EXPECT_EQ(got.provenance.noise_floor, sent.provenance.noise_floor);
  EXPECT_EQ(got.provenance.run_id, sent.provenance.run_id);
  EXPECT_EQ(got.kernel_name, sent.kernel_name);
  EXPECT_EQ(got.status, sent.status);
}

JobText job() {
  return {"0123456789abcdef",
          "affine",
          "a fingerprint",
          {{"k.cpp T=1", {"cpp", "id", "int x; // \xC3\xA9\n", {{"T", "1"}}, "// before\n"}, true, "ok"}}};
}

TEST(Protocol, AJobComesBackWithItsKernels) {
  const JobText got = job_of(to_text(job()));
  EXPECT_EQ(got.id, job().id);
  EXPECT_EQ(kernel_id(got.candidates[0].kernel), kernel_id(job().candidates[0].kernel));
  EXPECT_EQ(got.candidates[0].kernel.prologue, "// before\n");
  EXPECT_TRUE(got.candidates[0].is_seed);
  EXPECT_FALSE(got.fresh);
  JobText again = job();
  again.fresh = true;
  EXPECT_TRUE(job_of(to_text(again)).fresh);
}

TEST(Protocol, RubbishIsRefusedWithTheField) {
  for (const char* text : {"", "{", "[]", "3", "\"x\"", "null", "{}", R"({"id": 3})", "{\"id\": \"\xFF\"}"}) {
    EXPECT_ERROR(job_of(text), ErrorKind::bad_data, ::testing::_);
  }
  for (const char* field : {"id", "task", "fingerprint", "candidates"}) {
    nlohmann::json without = nlohmann::json::parse(to_text(job()));
    without.erase(field);
    EXPECT_ERROR(job_of(without.dump()), ErrorKind::bad_data, HasSubstr(field));
  }
  for (const char* id : {"short", "with space in it", "../../../../etc", ""}) {
    JobText bad = job();
    bad.id = id;
    EXPECT_ERROR(job_of(to_text(bad)), ErrorKind::bad_data, HasSubstr("id"));
  }
  JobText empty = job();
  empty.candidates.clear();
  EXPECT_ERROR(job_of(to_text(empty)), ErrorKind::bad_data, HasSubstr("candidates"));
}

TEST(Protocol, FaultsOfTypesNameTheKeyAndTheCandidate) {
  const auto with = [](const std::string& key, const nlohmann::json& value) {
    nlohmann::json text = nlohmann::json::parse(to_text(job()));
    text["candidates"].push_back(text["candidates"][0]);
    text["candidates"][1][key] = value;
    return text.dump();
  };
  for (const char* key : {"name", "source", "parameters", "is_seed", "prologue"}) {
    EXPECT_ERROR(job_of(with(key, 7)), ErrorKind::bad_data,
                 AllOf(HasSubstr("candidate 2"), HasSubstr("'" + std::string(key) + "'"), HasSubstr("number")));
  }
  nlohmann::json fresh = nlohmann::json::parse(to_text(job()));
  fresh["fresh"] = "yes";
  EXPECT_ERROR(job_of(fresh.dump()), ErrorKind::bad_data, HasSubstr("'fresh': type must be boolean, but is string"));
}

TEST(Protocol, DeeplyNestedTextIsOnlyRubbish) {
  EXPECT_ERROR(job_of(std::string(1'000'000, '[')), ErrorKind::bad_data, ::testing::_);
  EXPECT_ERROR(job_of(std::string(1'000'000, '[') + std::string(1'000'000, ']')), ErrorKind::bad_data, ::testing::_);
}

TEST(Protocol, OnlyUtf8Travels) {
  JobText bad = job();
  bad.candidates[0].kernel.source = "\xFF\xFE";
  EXPECT_ERROR(to_text(bad), ErrorKind::bad_data,
               AllOf(HasSubstr("UTF-8"), HasSubstr("'affine'"), HasSubstr("'k.cpp T=1'")));
  bad.candidates[0].name = "caf\xE9.cpp";
  EXPECT_ERROR(to_text(bad), ErrorKind::bad_data, HasSubstr("'caf\\xe9.cpp'"));
}

TEST(Protocol, AFingerprintFollowsWhatJudgesACandidate) {
  TaskFiles files;
  const std::string before = task_fingerprint(load_task_pack(files.path()));
  EXPECT_EQ(task_fingerprint(load_task_pack(files.path())), before);
  files.write("reference.cpp", std::string(kReferenceSource) + "// changed\n");
  EXPECT_NE(task_fingerprint(load_task_pack(files.path())), before);
  files.write("reference.cpp", kReferenceSource);
  files.write("task.yaml", replaced(kTaskYaml, "absolute: 1.0e-6", "absolute: 1.0e-2"));
  EXPECT_NE(task_fingerprint(load_task_pack(files.path())), before);
}

TEST(Token, AFileIsMadeForItsOwnerOnlyAndReadBack) {
  const TempFolder folder;
  const std::string token = read_token_file(folder / "token", true);
  EXPECT_GE(token.size(), 32U);
  EXPECT_EQ(read_token_file(folder / "token"), token);
  EXPECT_EQ(std::filesystem::status(folder / "token").permissions() & std::filesystem::perms::all,
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::permissions(folder / "token", std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  EXPECT_ERROR(read_token_file(folder / "token"), ErrorKind::bad_data, HasSubstr("chmod"));
  EXPECT_ERROR(read_token_file(folder / "absent"), ErrorKind::bad_data, HasSubstr("absent"));
}

TEST(Token, AFileThatHoldsNoneIsNamed) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "sub");
  EXPECT_ERROR(read_token_file(folder / "sub", true), ErrorKind::bad_data,
               AllOf(HasSubstr("sub"), HasSubstr("folder")));
  const auto fault = [&](const std::string& text) {
    folder.write("token", text);
    std::filesystem::permissions(folder / "token", std::filesystem::perms::owner_read);
    try {
      read_token_file(folder / "token");
      return std::string();
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(fault("exactly 16 chars\nmore"), "");
  for (const char* text : {"", "short\n", "only 15 letters"})
    EXPECT_THAT(fault(text), AllOf(HasSubstr((folder / "token").string()), HasSubstr("at least 16")));
  for (const std::string& text : {std::string("0123456789abcdef\0x", 18), std::string("0123456789abcd\xC3\xA9\xC3\xA9"),
                                  std::string("0123456789abcdef\tx")}) {
    EXPECT_THAT(fault(text), AllOf(HasSubstr((folder / "token").string()), HasSubstr("printable ASCII")));
  }
  EXPECT_THAT(fault("0123456789abcdef \n"), HasSubstr("space"));
}

TEST(Token, IsComparedWhole) {
  EXPECT_TRUE(tokens_equal("secret", "secret"));
  for (const char* wrong : {"", "secre", "secrets", "Secret", "secreu"})
    EXPECT_FALSE(tokens_equal(wrong, "secret")) << wrong;
}

}  // namespace
}  // namespace kc::test
