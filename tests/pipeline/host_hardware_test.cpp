#include "pipeline/host_hardware.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "pipeline/resources.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

HardwareTable shipped() { return HardwareTable::load(find_resource("configs/hardware.yaml")); }

TEST(HostHardware, AKnownProcessorHasItsOwnEntry) {
  const HostHardware host = host_hardware(shipped(), "AMD EPYC Processor", {"generic-avx2"});
  EXPECT_EQ(host.hardware.device, "AMD EPYC");
  EXPECT_EQ(host.warning, "");
}

TEST(HostHardware, AnUnknownOneTakesTheWidestGenericEntryAndSaysSo) {
  const HostHardware wide = host_hardware(shipped(), "Abacus 3000", {"generic-avx512", "generic-avx2"});
  EXPECT_EQ(wide.hardware.compute_capability, "AVX-512");
  EXPECT_THAT(wide.warning, AllOf(HasSubstr("'Abacus 3000'"), HasSubstr("'generic-avx512'"), HasSubstr("--hardware")));
  EXPECT_EQ(host_hardware(shipped(), "Abacus 3000", {"generic-avx2"}).hardware.compute_capability, "AVX2");
}

TEST(HostHardware, WithoutAGenericEntryItIsAnError) {
  EXPECT_ERROR(host_hardware(shipped(), "Abacus 3000", {}), ErrorKind::config, HasSubstr("Abacus 3000"));
  const TempFolder folder;
  const HardwareTable own = HardwareTable::load(folder.write(
      "own.yaml",
      "devices:\n  - device: X\n    kind: cpu\n    compute_capability: \"\"\n    global_memory_gb: 0\n"
      "    multiprocessors: 0\n    max_threads_per_multiprocessor: 0\n    clock_ghz: 0\n    memory_clock_ghz: 0\n"
      "    memory_bus_bits: 0\n"));
  EXPECT_ERROR(host_hardware(own, "Abacus 3000", {"generic-avx2"}), ErrorKind::config, HasSubstr("Abacus 3000"));
}

}  // namespace
}  // namespace kc::test
