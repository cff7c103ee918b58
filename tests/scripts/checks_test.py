"""The checking scripts refuse what they are there to refuse, on small trees made for the purpose."""
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Tree(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="kernelcast-tree-"))
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    def run_script(self, name, *arguments):
        return subprocess.run([ROOT / "scripts" / name, "--root", self.root, *arguments], text=True, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def accepts(self, script, *arguments):
        result = self.run_script(script, *arguments)
        self.assertEqual(result.returncode, 0, result.stdout)

    def refuses(self, script, message, *arguments):
        result = self.run_script(script, *arguments)
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn(message, result.stdout)


class Layers(Tree):
    def test_accepts_what_the_table_allows(self):
        self.write("rollout/a.cpp", '#include "model/sampler.h"\n#include <vector>\n#include "rollout/a.h"\n')
        self.write("model/b_torch.h", "#include <ATen/core/Tensor.h>\n")
        self.write("dataset/c.cpp", "#include <hdf5.h>\n#include <nlohmann/json.hpp>\n")
        self.write("tests/model/d.cpp", '#include <ATen/ops/ones.h>\n#include "model/b_torch.h"\n')
        self.accepts("layers")

    def test_refuses_an_upward_include_and_names_the_line(self):
        self.write("forecast/a.h", '#include "base/error.h"\n\n#include "dataset/pairs.h"\n')
        self.refuses("layers", "forecast/a.h:3: #include dataset/pairs.h: forecast may include: base")

    def test_refuses_a_commented_out_looking_but_real_include(self):
        self.write("base/a.cpp", '  #  include "forecast/bins.h" // needed\n')
        self.refuses("layers", "base may include: no other folder")

    def test_refuses_apps_from_tests(self):
        self.write("tests/apps/a.cpp", '#include "apps/train.h"\n')
        self.refuses("layers", "apps may be included by nothing")

    def test_refuses_relative_and_bare_includes(self):
        for target in ("../base/error.h", "error.h"):
            self.write("eval/a.cpp", f'#include "{target}"\n')
            self.refuses("layers", "by their path from the root")

    def test_refuses_torch_outside_its_folders_and_in_plain_headers(self):
        for path in ("rollout/a.cpp", "trainer/a.h", "tests/eval/a.cpp"):
            with self.subTest(path):
                self.write(path, "#include <ATen/core/Tensor.h>\n")
                self.refuses("layers", f"{path}:1: #include ATen/core/Tensor.h: LibTorch is seen only by")
                (self.root / path).unlink()

    def test_refuses_umbrella_headers_even_where_torch_is_allowed(self):
        self.write("model/a.cpp", "#include <torch/torch.h>\n")
        self.refuses("layers", "umbrella header")

    def test_refuses_hdf5_outside_dataset_sources(self):
        for path in ("dataset/a.h", "measure/a.cpp"):
            self.write(path, "#include <hdf5.h>\n")
            self.refuses("layers", f"{path}:1: #include hdf5.h: HDF5 is seen only by")
            (self.root / path).unlink()

    def test_refuses_slow_libraries_in_headers(self):
        for target in ("nlohmann/json.hpp", "yaml-cpp/yaml.h", "CLI/CLI.hpp", "spdlog/spdlog.h", "fmt/format.h"):
            self.write("base/a.h", f"#include <{target}>\n")
            self.refuses("layers", f"#include {target}: this library is included by .cpp files only")

    def test_refuses_regex_outside_tests(self):
        self.write("tests/base/a.cpp", "#include <regex>\n")
        self.accepts("layers")
        self.write("cuda/a.cpp", "#include <regex>\n")
        self.refuses("layers", "cuda/a.cpp:1: #include regex: std::regex overflows the stack")

    def test_refuses_a_link_that_the_table_does_not_allow(self):
        self.write("rewards/CMakeLists.txt", "add_layer(rewards\n  SOURCES a.cpp\n  DEPENDS base dataset\n  PRIVATE x)\n")
        self.refuses("layers", "rewards/CMakeLists.txt: rewards links dataset")


class Budgets(Tree):
    def setUp(self):
        super().setUp()
        self.excuses = self.root / "excuses.txt"
        self.excuses.write_text("# none\n")

    def write_function(self, body_lines):
        self.write("base/a.cpp", "int work(int n) {\n" + "  n += 1;\n" * body_lines + "  return n;\n}\n")

    def test_accepts_sixty_lines(self):
        self.write_function(57)
        self.accepts("budgets", "--excuses", self.excuses)

    def test_refuses_a_longer_function_and_names_it(self):
        self.write_function(58)
        self.refuses("budgets", "base/a.cpp:1: work has 61 lines (at most 60)", "--excuses", self.excuses)

    def test_refuses_a_long_function_in_a_header(self):
        self.write("base/a.h", "struct S {\n  int f(int n) {\n" + "    ++n;\n" * 70 + "    return n;\n  }\n};\n")
        self.refuses("budgets", "base/a.h:2: f has", "--excuses", self.excuses)

    def test_refuses_a_long_file(self):
        self.write("base/a.h", "// line\n" * 301)
        self.refuses("budgets", "base/a.h: 301 lines (at most 300)", "--excuses", self.excuses)

    def test_accepts_what_is_excused_with_a_reason_and_still_prints_it(self):
        self.write_function(100)
        self.excuses.write_text("base/a.cpp:work  a table of cases\n")
        result = self.run_script("budgets", "--excuses", self.excuses)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("accepted: a table of cases", result.stdout)

    def test_refuses_an_excuse_without_reason_and_one_that_is_not_needed(self):
        self.write_function(100)
        self.excuses.write_text("base/a.cpp:work\n")
        self.refuses("budgets", "without a reason", "--excuses", self.excuses)
        self.write_function(1)
        self.excuses.write_text("base/a.cpp:work  a table of cases\n")
        self.refuses("budgets", "keeps the budget now", "--excuses", self.excuses)


class Format(Tree):
    def test_check_refuses_and_plain_run_repairs(self):
        shutil.copy(ROOT / ".clang-format", self.root)
        self.write("base/a.cpp", "int   f( ){return 1 ;}\n")
        self.refuses("format", "need scripts/format", "--check")
        self.accepts("format")
        self.accepts("format", "--check")
        self.assertEqual((self.root / "base/a.cpp").read_text(), "int f() { return 1; }\n")


class Lint(Tree):
    def setUp(self):
        super().setUp()
        (self.root / "scripts").mkdir()
        shutil.copy(ROOT / ".clang-tidy", self.root)
        shutil.copy(ROOT / "scripts" / "versions", self.root / "scripts")
        source = self.root / "base/a.cpp"
        self.write("compile_commands.json",
                   f'[{{"directory": "{self.root}", "file": "{source}", "command": "g++ -I{self.root} -c {source}"}}]')
        self.write("base/a.cpp", '#include "base/a.h"\nint kc_f() { return one(); }\n')
        self.write("base/a.h", "#pragma once\ninline int one() { return 1; }\n")
        self.cache = tempfile.mkdtemp(prefix="kernelcast-cache-")
        self.addCleanup(shutil.rmtree, self.cache)

    def run_script(self, name, *arguments):
        command = ["env", f"XDG_CACHE_HOME={self.cache}", ROOT / "scripts" / name, "--root", self.root, "--build",
                   self.root, *arguments]
        return subprocess.run(command, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def test_skips_what_passed_and_checks_again_when_a_header_changes(self):
        self.assertIn("1 of 1 files to check", self.run_script("lint").stdout)
        self.assertIn("0 of 1 files to check", self.run_script("lint").stdout)
        self.write("base/a.h", "#pragma once\ninline int* one_() { return 0; }\ninline int one() { return 2; }\n")
        self.refuses("lint", "modernize-use-nullptr")
        self.refuses("lint", "1 of 1 files to check")

    def test_begins_no_file_after_the_time_and_says_so(self):
        self.assertIn("1 files were not reached in 0 s", self.run_script("lint", "--seconds", "0").stdout)
        self.assertIn("1 of 1 files to check", self.run_script("lint").stdout)


if __name__ == "__main__":
    unittest.main()
