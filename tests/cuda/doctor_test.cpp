#include "cuda/doctor.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "tests/cuda/fake_gpu.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

const DoctorLine* find_line(const std::vector<DoctorLine>& lines, const std::string& name) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const DoctorLine& line) { return line.name == name; });
  return found == lines.end() ? nullptr : &*found;
}

TEST(CudaDoctor, SaysWhatThisMachineHasAndLacksWithAdvice) {
  const auto lines = cuda_doctor({});
  ASSERT_NE(find_line(lines, "NVRTC"), nullptr);
  ASSERT_NE(find_line(lines, "runner isolation"), nullptr);
  EXPECT_NE(find_line(lines, "runner isolation")->state, DoctorState::missing);
  for (const DoctorLine& line : lines) {
    EXPECT_FALSE(line.detail.empty()) << line.name;
    EXPECT_EQ(line.advice.empty(), line.state == DoctorState::ok) << line.name;
  }
  const bool has_driver = find_line(lines, "device") != nullptr;
  EXPECT_NE(find_line(lines, has_driver ? "event overhead" : "driver"), nullptr);
}

TEST(CudaDoctor, NamesTheToolkitThatIsMissing) {
  CudaOptions options;
  options.compile.toolkit = "/nonexistent";
  const auto lines = cuda_doctor(options);
  ASSERT_NE(find_line(lines, "NVRTC"), nullptr);
  EXPECT_EQ(find_line(lines, "NVRTC")->state, DoctorState::missing);
  EXPECT_THAT(find_line(lines, "NVRTC")->detail, HasSubstr("/nonexistent"));
}

TEST(CudaDoctor, ChecksTimerClocksAndOtherProcessesOfADevice) {
  FakeWorld world;
  FakeDriver driver(world);
  FakeMonitor monitor(world);
  auto lines = gpu_doctor(driver, &monitor, 0, "cubin");
  EXPECT_EQ(find_line(lines, "other processes")->state, DoctorState::ok);
  EXPECT_EQ(find_line(lines, "timer resolution")->state, DoctorState::ok);
  EXPECT_THAT(find_line(lines, "timer resolution")->detail, HasSubstr("us by events"));
  EXPECT_THAT(find_line(lines, "multiprocessor clock")->detail, HasSubstr("1500 MHz"));
  world.processes.insert(4711);
  lines = gpu_doctor(driver, &monitor, 0, "cubin");
  EXPECT_EQ(find_line(lines, "other processes")->state, DoctorState::warning);
  EXPECT_THAT(find_line(lines, "other processes")->detail, HasSubstr("4711"));
  lines = gpu_doctor(driver, nullptr, 1, "cubin");
  EXPECT_EQ(find_line(lines, "devices")->state, DoctorState::missing) << "there is one, with index 0";
}

TEST(Nvml, NamesADeviceByItsUuid) {
  EXPECT_EQ(nvml_uuid("00112233445566778899aabbccddeeff"), "GPU-00112233-4455-6677-8899-aabbccddeeff");
}

}  // namespace
}  // namespace kc::test
