#include "measure/machine.h"

#include <gmock/gmock.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>

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

// Folders of their own: other tests measure at the same time.
class DeviceLocks : public ::testing::Test {
 protected:
  DeviceLocks() { std::filesystem::create_directory(folder_ / "cpu"); }
  std::unique_ptr<DeviceLock> take(const std::stop_token& stop, MachineUse use) const {
    return std::make_unique<DeviceLock>(stop, use, folder_.path());
  }
  TempFolder folder_;
};

TEST_F(DeviceLocks, ThoseThatBearEachOtherKeepOutWhoWantsToBeAlone) {
  std::stop_source impatient;
  impatient.request_stop();
  {
    const auto first = take({}, MachineUse::beside_others);
    const auto second = take(impatient.get_token(), MachineUse::beside_others);
    EXPECT_ERROR(take(impatient.get_token(), MachineUse::alone), ErrorKind::interrupted, ::testing::_);
  }
  const auto alone = take({}, MachineUse::alone);
  EXPECT_ERROR(take(impatient.get_token(), MachineUse::beside_others), ErrorKind::interrupted, ::testing::_);
}

TEST_F(DeviceLocks, WhoWaitsToBeAloneIsNotOvertaken) {
  auto first = take({}, MachineUse::beside_others);
  std::jthread waiting([this] { take({}, MachineUse::alone); });
  std::stop_source impatient;
  impatient.request_stop();
  const auto can_enter = [&] {
    try {
      take(impatient.get_token(), MachineUse::beside_others);
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (can_enter() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  EXPECT_FALSE(can_enter()) << "while the other one waits";
  first.reset();
  waiting.join();
  EXPECT_TRUE(can_enter());
}

}  // namespace
}  // namespace kc::test
