#include "trainer/tensorboard.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/support/python.h"
#include "tests/support/temp_folder.h"

namespace kc {
namespace {

std::uint32_t unmasked(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xA282EAD8U;
  return (rotated >> 17) | (rotated << 15);
}

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen(command.c_str(), "r");
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) output += buffer;
  ::pclose(pipe);
  return output;
}

TEST(Crc32c, AgreesWithPublishedCheckValues) {
  EXPECT_EQ(unmasked(masked_crc32c("123456789")), 0xE3069283U);
  EXPECT_EQ(unmasked(masked_crc32c(std::string(32, '\0'))), 0x8A9136AAU);  // RFC 3720, B.4
}

TEST(TfRecord, FramesTheBytesByLengthAndChecksums) {
  const std::string record = tfrecord("abc");
  ASSERT_EQ(record.size(), 8U + 4 + 3 + 4);
  EXPECT_EQ(record[0], 3);
  EXPECT_EQ(record.substr(12, 3), "abc");
}

const char* const kReader = R"(
import glob, sys
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
for path in sorted(glob.glob(sys.argv[1] + '/*')):
    for event in EventFileLoader(path).Load():
        if event.HasField('session_log'):
            print(event.step, 'restart')
        for value in event.summary.value:
            print(event.step, value.tag, value.simple_value or value.tensor.float_val[0])
)";

TEST(EventWriter, IsReadByTensorboard) {
  if (!test::python_can("import tensorboard"))
    GTEST_SKIP() << "the package tensorboard is not installed in .venv (scripts/setup --reference brings it)";
  const test::TempFolder folder, scripts;
  EventWriter(folder.path(), 0).write(3, {{"policy/reward", 0.5}, {"policy/kl", -2}});
  EventWriter(folder.path(), 3).write(300, {{"policy/reward", 0.75}});
  const std::string script = scripts.write("read.py", kReader).string();
  const std::string read = output_of(test::python() + " " + script + " " + folder.path().string() + " 2>/dev/null");
  EXPECT_EQ(read, "3 policy/kl -2.0\n3 policy/reward 0.5\n3 restart\n300 policy/reward 0.75\n");
}

}  // namespace
}  // namespace kc
