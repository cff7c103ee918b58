#include "forecast/hardware.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>

#include "base/error.h"

namespace kc {
namespace {

using ::testing::HasSubstr;

HardwareTable own_table() {
  return HardwareTable::load(std::filesystem::path(KC_SOURCE_DIR) / "configs/hardware.yaml");
}

std::filesystem::path temporary(const std::string& text) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "kc_hardware_test.yaml";
  std::ofstream(path) << text;
  return path;
}

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::config);
    return e.what();
  }
  return "no error";
}

TEST(HardwareTable, KnowsDevicesByNameAndAlias) {
  const HardwareTable table = own_table();
  EXPECT_EQ(table.find("NVIDIA GeForce RTX 3090").multiprocessors, 82);
  EXPECT_EQ(table.find("a4000").device, "NVIDIA RTX A4000");
  EXPECT_TRUE(table.find("AMD EPYC").is_cpu);
  EXPECT_FALSE(table.contains("abacus"));
}

TEST(HardwareTable, UnknownDeviceNamesTheNearestAndTheWayOut) {
  const HardwareTable table = own_table();
  const std::string message = message_of([&] { table.find("NVIDIA RTX A4500"); });
  EXPECT_THAT(message, HasSubstr("NVIDIA RTX A4000"));
  EXPECT_THAT(message, HasSubstr("--hardware-file"));
  EXPECT_THAT(message, HasSubstr("hardware.yaml"));
  EXPECT_THAT(message, HasSubstr("generic: generic-avx2, generic-avx512"));
}

TEST(Hardware, RowsFormatTheEightFacts) {
  const auto rows = own_table().find("NVIDIA A100-SXM4-80GB").rows();
  const std::vector<std::pair<std::string, std::string>> expected = {{"Device", "NVIDIA A100-SXM4-80GB"},
                                                                     {"Compute capability", "8.0"},
                                                                     {"Global memory (GB)", "80.0"},
                                                                     {"Multiprocessors", "108"},
                                                                     {"Max threads per multiprocessor", "2048"},
                                                                     {"Clock (GHz)", "1.41"},
                                                                     {"Memory clock (GHz)", "1.51"},
                                                                     {"Memory bus width (bits)", "5120"}};
  EXPECT_EQ(rows, expected);
}

TEST(Hardware, UnknownFactsSaySoAndCpusHaveTheirOwnLabels) {
  EXPECT_EQ(own_table().find("NVIDIA A100").rows()[2].second, "unknown");
  const auto rows = own_table().find("AMD EPYC").rows();
  EXPECT_EQ(rows[1].first, "Vector instructions");
  EXPECT_EQ(rows[3].first, "Cores");
  EXPECT_EQ(rows.size(), 8);
}

TEST(HardwareTable, FaultsNameFileAndLine) {
  const std::string entry =
      "devices:\n  - device: X\n    kind: gpu\n    compute_capability: \"1\"\n    global_memory_gb: 1\n"
      "    multiprocessors: 1\n    max_threads_per_multiprocessor: 1\n    clock_ghz: 1\n    memory_clock_ghz: 1\n";
  const auto load = [](const std::string& text) { return message_of([&] { HardwareTable::load(temporary(text)); }); };
  EXPECT_THAT(load(entry), HasSubstr("memory_bus_bits"));
  EXPECT_THAT(load(entry + "    memory_bus_bit: 1\n"), HasSubstr(":10: unknown key 'memory_bus_bit'"));
  EXPECT_THAT(load(entry + "    memory_bus_bits: wide\n"), HasSubstr(":10: 'memory_bus_bits' is not"));
  EXPECT_THAT(load(entry + "    memory_bus_bits: 1\n    aliases: [x]\n"), HasSubstr("given twice"));
  EXPECT_THAT(load("devices: {"), HasSubstr("not YAML"));
  EXPECT_THAT(load("- 1"), HasSubstr("list 'devices'"));
  EXPECT_THAT(message_of([] { HardwareTable::load("/nonexistent.yaml"); }), HasSubstr("cannot read"));
}

}  // namespace
}  // namespace kc
