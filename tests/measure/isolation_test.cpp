#include "measure/isolation.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "measure/doctor_parts.h"
#include "measure/landlock.h"
#include "measure/runner_protocol.h"
#include "tests/measure/task_files.h"
#include "tests/support/expect_error.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Isolation, UntrustedSourcesAreRefusedWhereNothingKeepsFilesOrCallsFromThem) {
  EXPECT_TRUE(is_confined(0));
  EXPECT_TRUE(is_confined(kNoFolder | kNoNamespaces | kNoUser));  // Landlock stands in for the root folder
  EXPECT_TRUE(is_confined(kNoLandlock));
  EXPECT_FALSE(is_confined(kNoSystemCallFilter));
  EXPECT_FALSE(is_confined(kNoFolder | kNoLandlock));
  EXPECT_ERROR(report_missing("auto", kNoSystemCallFilter), ErrorKind::environment, HasSubstr("'off'"));
  EXPECT_ERROR(report_missing("auto", kNoFolder | kNoLandlock), ErrorKind::environment, HasSubstr("Landlock"));
}

TEST(Isolation, AutomaticModeWarnsAboutWhatIsMissingAndRequireRefuses) {
  ::testing::internal::CaptureStderr();
  EXPECT_NO_THROW(report_missing("auto", kNoNamespaces));
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("SANDBOX INCOMPLETE"));
  EXPECT_ERROR(report_missing("require", kNoNamespaces), ErrorKind::environment, HasSubstr("namespaces"));
  EXPECT_NO_THROW(report_missing("require", 0));
}

TEST(Isolation, CompilerReadsWhatIsInstalledAndNothingElse) {
  if (landlock_abi() == 0) GTEST_SKIP() << "this kernel has no Landlock";
  const TaskFiles files;
  const TaskPack pack = load_task_pack(files.path());
  const TempFolder elsewhere;
  std::filesystem::permissions(elsewhere.path(), std::filesystem::perms::all);
  elsewhere.write("secret.h", "#error the secret is 1234\n");
  const std::string path = (elsewhere / "secret.h").string();
  for (const std::string& source : {"#include \"" + path + "\"\n", std::string("#include \"/etc/passwd\"\n"),
                                    std::string("#include \"../../task-0/reference/kernel.cpp\"\n")}) {
    const Measurement result = measure_source(pack, source + kHonestSource);
    EXPECT_EQ(name_of(result.status), "compile_error") << source;
    EXPECT_THAT(result.log, Not(HasSubstr("1234")));
    EXPECT_THAT(result.log, Not(HasSubstr("root:")));
  }
  const Measurement standard =
      measure_source(pack, std::string("#include <vector>\n#include <math.h>\n") + kHonestSource);
  EXPECT_EQ(name_of(standard.status), "ok") << standard.log;
}

TEST(Isolation, ControlGroupsAreRemovedWithTheirObject) {
  std::string files;
  {
    const Cgroup group(64 << 20, 8);
    if (group.missing() == "memory and pids") GTEST_SKIP() << "this user may not make control groups";
    files = group.join_files();
    EXPECT_TRUE(std::filesystem::exists(files.substr(0, files.find(':')))) << files;
  }
  EXPECT_FALSE(std::filesystem::exists(files.substr(0, files.find(':')))) << files;
}

TEST(Doctor, TriesEachPieceOfIsolation) {
  std::set<std::string> names;
  for (const DoctorLine& line : isolation_lines(quick_options())) {
    names.insert(line.name);
    EXPECT_FALSE(line.detail.empty()) << line.name;
    EXPECT_EQ(line.state == DoctorState::ok, line.advice.empty()) << line.name;
    EXPECT_EQ(line.detail.starts_with("tried, holds"), line.state == DoctorState::ok) << line.name << line.detail;
  }
  for (const char* name : {"namespaces", "root folder", "Landlock", "other user", "system call filter",
                           "address space limit", "memory control group", "process control group"}) {
    EXPECT_EQ(names.count(name), 1) << name;
  }
}

TEST(Doctor, AsRootOnThisKernelEveryPieceHolds) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  for (const DoctorLine& line : isolation_lines(quick_options())) {
    if (line.name == "Landlock" && landlock_abi() == 0) continue;
    if (line.name.ends_with("control group") && !Cgroup(1 << 26, 8).missing().empty()) continue;
    EXPECT_EQ(name_of(line.state), "ok") << line.name << ": " << line.detail;
  }
}

TEST(Doctor, ReportsMachineCompilerAndNoise) {
  std::set<std::string> names;
  for (const DoctorLine& line : host_doctor(quick_options(), {})) {
    names.insert(line.name);
    if (line.name != "noise" && line.name != "core") continue;
    EXPECT_THAT(line.detail, HasSubstr("%"));
    EXPECT_EQ(line.state == DoctorState::ok, line.advice.empty()) << line.name;
  }
  for (const char* name :
       {"compiler", "runner program", "cores", "clock frequency", "load", "timer resolution", "real-time priority",
        "address randomisation", "huge pages", "temporary folder", "noise", "core"}) {
    EXPECT_EQ(names.count(name), 1) << name;
  }
}

TEST(Doctor, SaysWhatIsMissingInsteadOfFailing) {
  HostOptions options = quick_options();
  options.compiler = "no-such-compiler";
  const std::vector<DoctorLine> lines = host_doctor(options, {});
  EXPECT_EQ(name_of(lines[0].state), "missing");
  EXPECT_THAT(lines[0].detail, HasSubstr("no-such-compiler"));
  EXPECT_FALSE(lines[0].advice.empty());
}

}  // namespace
}  // namespace kc::test
