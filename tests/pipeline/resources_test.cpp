#include "pipeline/resources.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "pipeline/kernel_file.h"
#include "tests/support/expect_error.h"
#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

using ::testing::HasSubstr;

TEST(Resources, WhatIsNowhereKeepsTheNameThatTheUserGave) {
  EXPECT_EQ(find_resource("no/such/file.h5"), "no/such/file.h5");
  EXPECT_EQ(find_resource("/no/such/file.h5"), "/no/such/file.h5");
  EXPECT_TRUE(std::filesystem::exists(find_resource("configs/hardware.yaml")));
}

TEST(Resources, AFolderThatCannotBeWrittenIsRefusedBeforeTheWork) {
  const TempFolder folder;
  EXPECT_NO_THROW(require_writable_folder(folder / "new/below"));
  EXPECT_EQ(folder.count(), 2U) << "nothing but the folders is left";
  folder.write("file", "x");
  EXPECT_ERROR(require_writable_folder(folder / "file"), ErrorKind::environment, HasSubstr("file"));
  EXPECT_ERROR(require_writable_folder("/proc/nowhere"), ErrorKind::environment, HasSubstr("/proc/nowhere"));
}

TEST(KernelFile, AnEmptyFileIsNoKernel) {
  const TempFolder folder;
  for (const char* text : {"", "\n\n", " \t\r\n"}) {
    EXPECT_ERROR(read_kernel_file(folder.write("k.cpp", text)), ErrorKind::bad_data, HasSubstr("empty"));
  }
}

TEST(KernelFile, AByteOrderMarkIsNoPartOfIt) {
  const TempFolder folder;
  const KernelText kernel = read_kernel_file(folder.write("k.cpp", "\xEF\xBB\xBF#define TILE 8\nint x;\n"));
  EXPECT_EQ(kernel.source, "int x;\n");
  ASSERT_EQ(kernel.parameters.size(), 1);
  EXPECT_ERROR(read_kernel_file(folder.write("k.cpp", "\xEF\xBB\xBF\n")), ErrorKind::bad_data, HasSubstr("empty"));
}

TEST(KernelFile, TheLanguageFollowsFromTheName) {
  const TempFolder folder;
  for (const auto& [name, language] : {std::pair("k.cpp", "cpp"), {"k.c", "c"}, {"k.cu", "cuda"}, {"k.cl", "opencl"}}) {
    EXPECT_EQ(read_kernel_file(folder.write(name, "int x;\n")).language, language);
  }
}

}  // namespace
}  // namespace kc::test
