#include "forecast/kernel_text.h"

#include <gtest/gtest.h>

#include "base/rng.h"
#include "forecast/measurement.h"
#include "forecast/source_text.h"

namespace kc {
namespace {

std::string normalised(const std::string& source, const std::string& language = "cpp") {
  return normalised_source({.language = language, .template_id = "", .source = source, .parameters = {}});
}

TEST(KernelText, DefinesStandBeforeTheSourceInOrder) {
  const KernelText kernel{"cuda", "t", "int x;\n", {{"B", "2"}, {"A", "1"}}};
  EXPECT_EQ(instantiated_source(kernel), "#define B 2\n#define A 1\nint x;\n");
}

TEST(KernelText, NormalisingDropsCommentsAndCollapsesBlanks) {
  EXPECT_EQ(normalised("int  a; // one\n\n\t/* two\n lines */ int b;\n"), "int a; int b;");
  EXPECT_EQ(normalised("// a \\\n still a comment\nint b;"), "int b;");
  EXPECT_EQ(normalised("int a;/* open"), "int a;");
}

TEST(KernelText, NormalisingKeepsLiterals) {
  EXPECT_EQ(normalised("f(\"a  // b /* \", '\"', \"\\\"//\"); // c"), "f(\"a  // b /* \", '\"', \"\\\"//\");");
  EXPECT_EQ(normalised("auto s = R\"x(a // )\" b)x\"; // c"), "auto s = R\"x(a // )\" b)x\";");
  EXPECT_EQ(normalised("int n = 1'000'000; // c"), "int n = 1'000'000;");
  EXPECT_EQ(normalised("char c = L'/'; // c"), "char c = L'/';");
  EXPECT_EQ(normalised("#error don't\nint a; // c"), "#error don't int a;");
}

TEST(KernelText, PythonHasItsOwnCommentsAndStrings) {
  EXPECT_EQ(normalised("a = b // c  # d\n", "python"), "a = b // c");
  EXPECT_EQ(normalised("s = '''# in  text''' # out", "python+cuda"), "s = '''# in  text'''");
  EXPECT_EQ(normalised("#define N 1\n", "cpp"), "#define N 1");
}

TEST(KernelText, ParametersTellNormalisedTextsApart) {
  const KernelText a{"python", "t", "x", {{"N", "1"}}}, b{"python", "t", "x", {{"N", "2"}}};
  EXPECT_NE(normalised_source(a), normalised_source(b));
  EXPECT_EQ(normalised_source({"cpp", "one", "int a; // x", {}}), normalised_source({"cpp", "two", "int  a;", {}}));
}

TEST(KernelText, SegmentsRebuildAnyText) {
  RngStream rng(5);
  const std::string alphabet = "/*\"'\\\nR(x)#1 ";
  for (int trial = 0; trial < 20000; ++trial) {
    std::string text, rebuilt;
    const std::uint64_t length = rng.below(40);
    for (std::uint64_t i = 0; i < length; ++i) text += alphabet[rng.below(alphabet.size())];
    for_each_segment(text, trial % 2 == 0 ? "cpp" : "python",
                     [&](SegmentKind, std::string_view part) { rebuilt += part; });
    ASSERT_EQ(rebuilt, text);
  }
}

TEST(KernelId, DependsOnEveryPartAndOnTheirBorders) {
  const KernelText kernel{"cpp", "t", "source", {{"A", "1"}}};
  EXPECT_EQ(kernel_id(kernel).size(), 64);
  KernelText other = kernel;
  other.language = "cuda";
  EXPECT_EQ(kernel_id(other), kernel_id(kernel)) << "the fence's name is no part of the text";
  other = kernel;
  other.parameters = {{"A1", ""}};
  EXPECT_NE(kernel_id(other), kernel_id(kernel));
  other = kernel;
  other.template_id = "ts";
  other.source = "ource";
  EXPECT_NE(kernel_id(other), kernel_id(kernel));
}

}  // namespace
}  // namespace kc
