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
           {"s = " + kernel + "\nm = f('%s%s' % (HEAD, s))\n", "the operator % in line 5"},
           {"s = " + kernel + "\nm = '// %s' % s\n", "the operator % in line 5"},
           {"s = " + kernel + "\nm = '%s' % dedent(s)\n", "the operator % in line 5"},
           {"s = " + kernel + "\nm = '%(h)s%(s)s' % {'h': HEAD, 's': s.strip()}\n", "the operator % in line 5"},
           {"s = " + kernel + "\nm = '{}{}'.format(HEAD, s)\n", ".format(...) in line 5"},
           {"s = " + kernel + "\nm = '{a}{b}'.format(a=HEAD, b=dedent(s))\n", ".format(...) in line 5"},
           {"s = '%s%s' % (HEAD, " + kernel + ")\n", "the operator % in line 2"},
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

TEST(PythonBuilding, RefusesWhatIsPutTogetherBehindDedentAndOtherVariables) {
  const std::string kernel = "s = '''\n__global__ void k(float* x) { x[0] = N; }\n'''\n";
  for (const auto& [rest, reason] : std::map<std::string, std::string>{
           {"m = f(HEAD + textwrap.dedent(s))\n", "the operator + in line 5"},
           {"m = f(dedent(\n  s) + TAIL)\n", "the operator + in line 6"},
           {"m = inspect.cleandoc(s).strip() + TAIL\n", "the operator + in line 5"},
           {"m = HEAD + (dedent(s.strip()))\n", "the operator + in line 5"},
           {"m = HEAD + indent((s), '  ')\n", "the operator + in line 5"},
           {"m = indent(s, '  ') + TAIL\n", "the operator + in line 5"},
           {"def f(self):\n  return dedent(self.s) % 3\n", "the operator % in line 6"},
           {"m = dedent(s).replace('N', '3')\n", ".replace(...) in line 5"},
           {"m = HEAD\nm += cleandoc(s)\n", "the operator + in line 6"},
           {"m = Template(dedent(s))\n", "Template(...) in line 5"},
           {"t = dedent(s)\nm = f(HEAD + t)\n", "the operator + in line 6"},
           {"def f():\n  return HEAD + u\nt: str = (s)\nu = t.strip()  # why\n", "the operator + in line 6"},
           {"m = f'{HEAD}{dedent(s)}'\n", "an f-string in line 5"},
           {"m = f(f'''{HEAD}\n{self.s.strip()}''')\n", "an f-string in line 5"}}) {
    EXPECT_THAT(reason_of("import torch\n" + kernel + rest), AllOf(HasSubstr("at run time"), HasSubstr(reason)))
        << rest;
  }
}

TEST(PythonBuilding, RefusesWhatIsWrittenInPartsAndSaysWhereTheOtherPartIs) {
  const std::string kernel = "'''__global__ void k(float* x) { x[0] = N; }'''";
  for (const auto& [rest, reason] : std::map<std::string, std::string>{
           {"b = io.StringIO()\nb.write(HEAD)\nb.write(" + kernel + ")\n", "write(...) in line 3"},
           {"b = io.StringIO()\nb.write(" + kernel + ")\nself.b.write(TAIL)\n", "write(...) in line 4"},
           {"s = " + kernel + "\nb = StringIO()\nb.write(HEAD)\nb.write(dedent(s))\n", "write(...) in line 4"},
           {"b = StringIO(HEAD)\nb.write(" + kernel + ")\n", "StringIO(...) in line 2"},
           {"with io.StringIO(" + kernel + ") as b:\n  b.write(TAIL)\n", "write(...) in line 3"},
           {"b = io.StringIO()\nprint(" + kernel + ", file=b)\nprint(TAIL, file=b)\n", "print(...) in line 4"},
           {"b = io.StringIO()\nb.write('__global__ void k(float* x) {')\nb.write('x[0] = 1; }')\n",
            "write(...) in line 4"},
           {"b: io.StringIO = io.StringIO()\nb.write(" + kernel + ")\nm = b.getvalue() + TAIL\n",
            "the operator + in line 4"},
           {"b = io.StringIO()\nb.write(" + kernel + ")\nm = b.getvalue()\nn = HEAD + m\n", "the operator + in line 5"},
           {"with open('a') as f:\n  f.write(HEAD)\n  f.write(" + kernel + ")\n", "write(...) in line 3"},
           {"b.writelines([HEAD, " + kernel + "])\n", "writelines(...) in line 2"},
           {"s = [HEAD, " + kernel + "]\nb.writelines(s)\n", "writelines(...) in line 3"},
           {"s = [HEAD, " + kernel + "]\nfor p in s:\n  b.write(p)\n", "write(...) in line 4"},
           {"s = [HEAD, " + kernel + "]\nt = ''\nfor p in s:\n  t += p\n", "the operator + in line 5"}}) {
    EXPECT_THAT(reason_of("import torch\n" + rest), AllOf(HasSubstr("at run time"), HasSubstr(reason))) << rest;
  }
}

TEST(PythonBuilding, AcceptsModulesThatFormatOtherTexts) {
  const std::string kernel = "'''\n__global__ void k(float* x) { x[0] = 7 % 3; }\n'''";
  for (const std::string& rest :
       {"s = " + kernel + ".strip()\nprint('%s' % s, '{}'.format(s), name.replace('a', s))\n",
        "s = " + kernel + "\n# s.replace(1)\nt = 's % 3'\nss = 'x'.replace('a', 'b')\nss.format(1)\n",
        "m = load_inline(cuda_sources=[" + kernel + "], name='m{}'.format(3))\nx = 7 % 3\n",
        "s = " + kernel + "\nraise ValueError('%s of %s' % (s, n))\nn = 'm%d' % len(s)\nlog.info('%s' % s.strip())\n",
        "s = " + kernel + "\nn = 'm{}'.format(s.count('x'))\nn = '%d' % (s.count('x'), s[0])\n",
        "s = ('// head\\n' " + kernel + "\n  '// tail')\nn = 1 + 2\nt = 'a' + ''.join(['b', 'c'])\n",
        "s = " + kernel + "\nm = f(inspect.cleandoc(s), textwrap.dedent(s), n + 1)\n",
        "s = " + kernel + "\nt = dedent(s)\nm = f(t)\nprint(f'{s}', f'{len(s)}')\nn = 'm' + hash(s)\n",
        "s = " + kernel + "\nn = s.count('x')\nm = n + 1\nraise ValueError(f'{s}')\nlines = len(s) + 1\n",
        "b = io.StringIO()\nb.write(dedent(" + kernel + "))\nm = f(b.getvalue())\n",
        "with open('a') as f:\n  f.write(" + kernel + ")\nwith open('b') as f:\n  f.write(HEAD)\n",
        "s = " + kernel + "\nsys.stdout.write(s)\nsys.stdout.write(TAIL)\nprint(s, file=sys.stderr)\n",
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
