#include "measure/machine.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

TEST(MachineFacts, LoadAndClockOfTheCoreAreRead) {
  const TempFolder folder;
  write(folder / "proc/loadavg", "2.50 1.00 0.50 3/500 1234\n");
  write(folder / "proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 1000.5\n\nprocessor\t: 1\ncpu MHz\t\t: 2000.0\n");
  EXPECT_EQ(machine_facts(1, folder.path()), (Facts{{"frequency_mhz", 2000}, {"load_1min", 2.5}}));
  EXPECT_EQ(machine_facts(-1, folder.path()).at("frequency_mhz"), 1000.5);
  write(folder / "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3100000\n");
  EXPECT_EQ(machine_facts(1, folder.path()).at("frequency_mhz"), 3100);
}

TEST(MachineFacts, WhatTheMachineDoesNotTellIsAbsent) {
  const TempFolder folder;
  EXPECT_TRUE(machine_facts(0, folder.path()).empty());
  write(folder / "proc/loadavg", "nonsense");
  EXPECT_TRUE(machine_facts(0, folder.path()).empty());
}

TEST(DeviceLock, ThoseThatBearEachOtherKeepOutWhoWantsToBeAlone) {
  std::stop_source impatient;
  impatient.request_stop();
  {
    const DeviceLock first({}, MachineUse::beside_others);
    const DeviceLock second(impatient.get_token(), MachineUse::beside_others);
    EXPECT_ERROR(DeviceLock(impatient.get_token()), ErrorKind::interrupted, ::testing::_);
  }
  const DeviceLock alone({});
  EXPECT_ERROR(DeviceLock(impatient.get_token(), MachineUse::beside_others), ErrorKind::interrupted, ::testing::_);
}

}  // namespace
}  // namespace kc::test
