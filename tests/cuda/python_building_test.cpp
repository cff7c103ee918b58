// What is told apart in Python modules: their texts, and those that another text is made of.
#include <gmock/gmock.h>

#include <map>

#include "cuda/extract.h"

namespace kc::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string reason_of(const std::string& text) {
  const auto device = extract_device_code(text);
  return device ? "extracted" : device.error();
}

// What the module compiles is not what stands in the file.
TEST(PythonBuilding, RefusesTextThatPythonBuildsAndSaysWhere) {
  const std::string kernel = "'''\n__global__ void k(float* x) { x[0] = N; }\n'''";
  const auto module = [&](const std::string& rest) { return reason_of("import torch\n" + rest); };
  for (const auto& [rest, reason] : std::map<std::string, std::string>{
           {"s = " + kernel + " % n\n", "the operator % in line 4"},
           {"s = " + kernel + ".replace('N', '3')\n", ".replace(...) in line 4"},
           {"s = (" + kernel + "  # why: (\n    .strip()\n    .format(n=3))\n", ".format(...) in line 6"},
           {"s = dedent(" + kernel + ") % {'n': 3}\n", "the operator % in line 4"},
           {"s = " + kernel + "\nm = load_inline(cuda_sources=s.replace('N', '3'))\n", ".replace(...) in line 5"},
           {"s: str = " + kernel + "\n\ns %= 3\n", "the operator % in line 6"},
           {"class M:\n  s = dedent(r" + kernel + ")\n  def f(self):\n    return self.s.lstrip().format_map({})\n",
            ".format_map(...) in line 7"},
           {"self.s = " + kernel + "\nm = self . s . format(n=3)\n", ".format(...) in line 5"},
           {"s = " + kernel + " + tail\n", "the operator + in line 4"},
           {"s = HEAD + dedent(" + kernel + ")\n", "the operator + in line 2"},
           {"s = '// head'\ns += " + kernel + "\n", "the operator + in line 3"},
           {"s = " + kernel + "\ns += TAIL\n", "the operator + in line 5"},
           {"self.s = " + kernel + "\nm = f(HEAD + self.s)\n", "the operator + in line 5"},
           {"s = '\\n'.join(['// head', " + kernel + ", *tail])\n", ".join(...) in line 2"},
           {"s = " + kernel + "\nm = f('\\n'.join([HEAD, dedent(s)]))\n", ".join(...) in line 5"},
           {"s: list[str] = ['// head', " + kernel + ", '// tail']\nm = ''.join(s)\n", ".join(...) in line 5"},
           {"self.s.append(" + kernel + ")\nm = ''.join(self.s)\n", ".join(...) in line 5"},
           {"s = '\\n'.join(['__global__ void k(float* x) {', 'x[0] = 1;', '}'])\n", ".join(...) in line 2"},
           {"s = '__global__ void k(float* x) ' + '{ x[0] = 1; }'\n", "the operator + in line 2"},
           {"s = string.Template(" + kernel + ")\n", "Template(...) in line 2"},
           {"s = " + kernel + "\nm = Template(s).safe_substitute(N=3)\n", "Template(...) in line 5"},
           {"s = make(" + kernel + ")\nm = s.safe_substitute(N=3)\n", ".safe_substitute(...) in line 5"},
           {"s = make(" + kernel + ").substitute(N=3)\n", ".substitute(...) in line 4"},
           {"n = 3\ns = rf" + kernel + "\n", "an f-string in line 3"}}) {
    EXPECT_THAT(module(rest), AllOf(HasSubstr("built at run time"), HasSubstr(reason))) << rest;
  }
}

TEST(PythonBuilding, AcceptsModulesThatFormatOtherTexts) {
  const std::string kernel = "'''\n__global__ void k(float* x) { x[0] = 7 % 3; }\n'''";
  for (const std::string& rest :
       {"s = " + kernel + ".strip()\nprint('%s' % s, '{}'.format(s), name.replace('a', s))\n",
        "s = " + kernel + "\n# s.replace(1)\nt = 's % 3'\nss = 'x'.replace('a', 'b')\nss.format(1)\n",
        "m = load_inline(cuda_sources=[" + kernel + "], name='m{}'.format(3))\nx = 7 % 3\n",
        "s = ('// head\\n' " + kernel + "\n  '// tail')\nn = 1 + 2\nt = 'a' + ''.join(['b', 'c'])\n",
        "s = [HEAD, " + kernel + "]\nm = f(s, os.path.join(folder, s), n + 1)\n"}) {
    EXPECT_EQ(reason_of("import torch\n" + rest), "extracted") << rest;
  }
}

TEST(PythonTexts, JoinsNeighboursAndResolvesEscapes) {
  const auto texts =
      python_texts("a = 'one\\n' \"two\"  # 'no'\nb = r'raw\\n' + f\"{x}\"\nc = \"\"\"three\n'quoted'\"\"\"\n");
  ASSERT_EQ(texts.size(), 4);
  EXPECT_EQ(texts[0].text, "one\ntwo");
  EXPECT_EQ(texts[1].text, "raw\\n");
  EXPECT_TRUE(texts[2].is_format);
  EXPECT_EQ(texts[3].text, "three\n'quoted'");
  EXPECT_EQ(texts[3].line, 3);
}

}  // namespace
}  // namespace kc::test
