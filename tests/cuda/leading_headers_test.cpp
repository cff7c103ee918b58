#include "cuda/leading_headers.h"

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace kc::test {
namespace {

class LeadingHeadersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    toolkit_.write("plain.h", "#pragma once\n__device__ float twice(float x);\n");
    toolkit_.write("cub/reduce.cuh", "#include <cub/config.cuh>\n#  include \"util.cuh\" // TILE in a comment\n");
    toolkit_.write("cub/config.cuh", "/* N */ #ifdef CHECKED\n#endif\n");
    toolkit_.write("cub/util.cuh",
                   "#include \"reduce.cuh\"\ntemplate <int THREADS> struct Util { char text[sizeof \"M\"]; };\n");
    toolkit_.write("thrust/system.h", "#define FILE_OF(x) <thrust/x.h>\n#include FILE_OF(device)\n");
    toolkit_.write("thrust/device.h", "#define ON_DEVICE 1\n");
    toolkit_.write("cub/round.cuh", "#include \"../cub/about.cuh\"\n");
    toolkit_.write("cub/about.cuh", "#include \"../cub/round.cuh\"\n#define ABOUT 1\n");
    toolkit_.write("computed.h", "#define FILE_OF(x) <x.h>\n#include FILE_OF(plain)\n");
  }

  std::string of(const std::string& unit, std::size_t source_begin = 0) {
    return LeadingHeaders({toolkit_.path()}).of(unit, source_begin);
  }

  TempFolder toolkit_;
};

constexpr const char* kReduce = "#include <cub/reduce.cuh>\n";
constexpr const char* kPlain = "#include <plain.h>\n";
constexpr const char* kKernel = "extern \"C\" __global__ void run() {}\n";

TEST_F(LeadingHeadersTest, AreThoseAtTheHeadInTheirOrder) {
  EXPECT_EQ(of(std::string(kPlain) + kReduce + kKernel), std::string(kPlain) + kReduce);
  EXPECT_EQ(of("// text\n\n/* #include <no> */  #  include  <plain.h>  // why\n" + std::string(kKernel)), kPlain);
  EXPECT_EQ(of(std::string("#pragma once\n#line 7 \"x.cu\"\n") + kPlain), kPlain);
  EXPECT_EQ(of("#include <plain.h>\r\n__global__ void run();\r\n"), kPlain);
}

TEST_F(LeadingHeadersTest, EndAtTheFirstCode) {
  for (const char* code :
       {"namespace n {\n", "extern \"C\" {\n", "__device__ float min(float, float);\n", "using T = int;\n",
        "struct Case {};\n", "#error no\n", "#pragma pack(1)\n", "int\n", "const float x = f(3);\n"}) {
    EXPECT_EQ(of(std::string(kPlain) + code + kReduce), kPlain) << code;
    EXPECT_EQ(of(std::string(code) + kPlain), "") << code;
  }
}

TEST_F(LeadingHeadersTest, AreOfTheToolkitAlone) {
  for (const char* other : {"#include <other.h>\n", "#include \"plain.h\"\n", "#include </etc/passwd>\n",
                            "#include PLAIN\n", "#include <cub/../plain.h>\n", "#include <plain.h> more\n",
                            "#include <plain.h\n", "#include <>\n", "#include_next <plain.h>\n", "#include <cub>\n"}) {
    EXPECT_EQ(of(other), "") << other;
    EXPECT_EQ(of(std::string(other) + kPlain), "") << other;
  }
}

TEST_F(LeadingHeadersTest, ComeBehindMacrosThatTheyDoNotKnow) {
  EXPECT_EQ(of(std::string("#define TILE 16\n#define N 4\n#define M\n") + kReduce), kReduce)
      << "words of comments and texts are none of the header's names";
  EXPECT_EQ(of(std::string("constexpr int TILE = 16;\nstatic const unsigned int X = 0x10u;\n") + kReduce), kReduce);
  EXPECT_EQ(
      of(std::string("#ifndef TILE\n#define TILE 16\n#elif 1\n#error both\n#else\n#define TILE 8\n#endif\n") + kReduce),
      kReduce);
  EXPECT_EQ(of(std::string("#define TILE 16\n#include <plain.h>\n#define THREADS 2\n") + kReduce), kPlain);
}

TEST_F(LeadingHeadersTest, StayBehindMacrosThatMayChangeThem) {
  for (const char* macro : {"#define THREADS 32\n", "#define CHECKED\n", "#undef CHECKED\n", "# define THREADS(x) x\n",
                            "constexpr int Util = 3;\n", "#define __CUDA_NO_HALF_OPERATORS__\n", "#define CUB_STDERR\n",
                            "#define _CCCL_X\n", "#define A__B\n", "#ifdef X\n#define CHECKED 1\n#endif\n",
                            "#if 0\n#define THREADS 1\n#endif\n", "#define \\\nTHREADS 32\n"}) {
    EXPECT_EQ(of(std::string(macro) + kReduce), "") << macro;
    EXPECT_EQ(of(std::string(kReduce) + macro), kReduce) << macro;
  }
  EXPECT_EQ(of("#define TILE 1\n#include <computed.h>\n"), "") << "what it includes is not known";
  const std::string thrust = "#include <thrust/system.h>\n";
  EXPECT_EQ(of("#define TILE 1\n" + thrust), thrust);
  EXPECT_EQ(of("#define ON_DEVICE 0\n" + thrust), "") << "it may be any file of its library";
  EXPECT_EQ(of("#include <computed.h>\n"), "#include <computed.h>\n");
}

// A header that stands in front may decide what comes out of a condition.
TEST_F(LeadingHeadersTest, StayBehindConditionsThatTheyMayDecide) {
  for (const char* condition :
       {"#ifdef CHECKED\n#define TILE 1\n#endif\n", "#if !defined(THREADS) && 1\n#endif\n",
        "#if 0\n#elif THREADS\n#endif\n", "#define ASKED THREADS\n#if ASKED\n#endif\n",
        "#ifndef __CUDA_ARCH__\n#endif\n", "constexpr int TILE = THREADS;\n",
        "#ifdef TILE\n#include <plain.h>\n#endif\n", "#ifdef TILE\n#pragma pack(1)\n#endif\n"}) {
    EXPECT_EQ(of(std::string(condition) + kReduce), "") << condition;
    EXPECT_EQ(of(std::string(kReduce) + condition), kReduce) << condition;
  }
  EXPECT_EQ(of(std::string("#define ASKED THREADS\n") + kReduce), kReduce) << "nothing asks for it";
}

TEST_F(LeadingHeadersTest, MayIncludeEachOther) {
  const std::string round = "#include <cub/round.cuh>\n";
  EXPECT_EQ(of("#define TILE 1\n" + round), round);
  EXPECT_EQ(of("#define ABOUT 2\n" + round), "");
}

// Where lines are not what they look like: comments, names and texts that go on behind a line's end, and macros of
// code.
TEST_F(LeadingHeadersTest, StayBehindWhatOnlyLooksLikeAMacro) {
  for (const char* head : {"/* *\\\n/ #define CHECKED\n/* */\n", "#define CHECK\\\nED 1\n", "#include \\\n <plain.h>\n",
                           "// why?\?/\n", "#define X 3; _Pragma(\"pack(1)\")\nconstexpr int N = X;\n",
                           "#define N N = 1; _Pragma(\"pack(1)\") int a\nconst int N = 3;\n",
                           "#define int _Pragma(\"pack(1)\") int\nconst int N = 3;\n", "const N = 3;\n",
                           "const int N = 3; int M;\n", "int N = 3;\n"}) {
    EXPECT_EQ(of(std::string(head) + kPlain), "") << head;
  }
  EXPECT_EQ(of(std::string("#define S R\"(\n") + kPlain + ")\"\n"), "") << "it stands in a text";
  EXPECT_EQ(of(std::string("#define Q L'\"' /*\n") + kPlain + "// */\n"), "") << "it stands in a comment";
  const std::string rest = std::string(kPlain) + "//*/\n";
  for (const char* head :
       {"#define HOSTX /*\n*/ ", "#undef HOSTX /*\n*/ ", "#ifdef HOSTX /*\n*/ #endif\n", "#if 1\n#else /*\n*/ #endif\n",
        "#if 1\n#endif /*\n*/", "const int HOSTX = 3; /*\n*/", "#define HOSTX .5'0/*'\n", "#define HOSTX 1e+a'0/*'\n",
        "#define HOSTX '/*'\n", "#define HOSTX uR\"(\n"}) {
    EXPECT_EQ(of(head + rest), "") << head;
  }
  EXPECT_EQ(of(std::string("#define D 1 // don't /* \n/* don't\n */ ") + kPlain), kPlain);
  EXPECT_EQ(of(std::string(kPlain) + "#define X \\\n 1\n" + kReduce), kPlain);
}

// What a candidate asks for is read once, by one name, and has an end.
TEST_F(LeadingHeadersTest, HaveBounds) {
  for (const char* other : {"#include <./plain.h>\n", "#include <cub//reduce.cuh>\n", "#include <cub/./reduce.cuh>\n",
                            "#include </plain.h>\n", "#include <plain.h/>\n", "#include <.hidden>\n"}) {
    EXPECT_EQ(of(other), "") << other;
  }
  std::string many, defines;
  for (int i = 0; i < 10000; ++i) many += kPlain;
  EXPECT_EQ(of(many).size(), 16 * std::string(kPlain).size());
  for (int i = 0; i < 20000; ++i) defines += "#define A" + std::to_string(i) + " 1\n";
  EXPECT_EQ(of(defines + kReduce), "");
  EXPECT_EQ(of("const int" + std::string(100000, ' ') + "TILE = 1;\n" + kPlain), "");
  std::string ints = "const";
  for (int i = 0; i < 10000; ++i) ints += " int";
  EXPECT_EQ(of(ints + " TILE = 1;\n" + kPlain), kPlain);
}

TEST_F(LeadingHeadersTest, OfAUnitOfOursStandBehindItsPrelude) {
  const std::string prelude = "struct Case { long long N; };\n#define TILE 16\n#line 1 \"k.cu\"\n";
  EXPECT_EQ(of(prelude + kReduce + kKernel, prelude.size()), kReduce);
  const std::string tunable = "struct Case { long long N; };\n#define THREADS 16\n";
  EXPECT_EQ(of(tunable + kReduce + kKernel, tunable.size()), "");
  EXPECT_EQ(of(tunable + kPlain + kKernel, tunable.size()), kPlain);
}

TEST_F(LeadingHeadersTest, OfBrokenTextAreNone) {
  for (const std::string& text :
       {std::string(), std::string("#"), std::string("#include"), std::string("#include <"), std::string("#define"),
        std::string("#endif\n#endif\n#include"), std::string("include\0<", 9), std::string("/* #include <plain.h>")}) {
    EXPECT_EQ(of(text), "");
    EXPECT_EQ(of(text, text.size()), "");
  }
  EXPECT_EQ(of(std::string("#endif\n") + kPlain), "") << "a conditional that nobody began";
}

}  // namespace
}  // namespace kc::test
