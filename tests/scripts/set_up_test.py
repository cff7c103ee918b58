"""scripts/setup without root, and with a LibTorch that is none: it says what to do and changes nothing."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class SetUp(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="kernelcast-setup-"))
        self.addCleanup(shutil.rmtree, self.root)
        (self.root / "scripts").mkdir()
        for name in ("setup", "common.sh", "versions", "run"):
            shutil.copy(ROOT / "scripts" / name, self.root / "scripts")
        self.bin = self.root / "stand-ins"
        self.bin.mkdir()

    def stand_in(self, name, text):
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def call(self, *command, **variables):
        environment = dict(os.environ, PATH=f"{self.bin}:{os.environ['PATH']}", **variables)
        return subprocess.run([self.root / "scripts" / command[0], *command[1:]], env=environment, text=True,
                              check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def all_packages_installed(self):
        self.stand_in("dpkg-query", 'shift 3; for p in "$@"; do printf "installed/%s " "$p"; done')

    def test_without_root_prints_the_one_command_and_stops(self):
        self.stand_in("dpkg-query", "exit 1")
        self.stand_in("id", "echo 1000")
        self.stand_in("sudo", "exit 1")
        self.stand_in("apt-get", f"touch {self.root}/apt-was-called")
        result = self.call("setup")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"\n  apt-get update && apt-get install \S.* -y g\+\+ cmake .*libhdf5-dev")
        self.assertFalse((self.root / "apt-was-called").exists())
        self.assertFalse((self.root / ".venv").exists())

    def test_names_only_what_is_missing(self):
        self.stand_in("dpkg-query", 'shift 3; for p in "$@"; do [ $p = lld ] || printf "installed/%s " "$p"; done')
        self.stand_in("id", "echo 1000")
        self.stand_in("sudo", "exit 1")
        self.assertRegex(self.call("setup").stdout, r"-y lld *\n")

    def test_a_wrong_libtorch_folder_is_named(self):
        self.all_packages_installed()
        result = self.call("setup", KERNELCAST_LIBTORCH="/nowhere")
        self.assertEqual(result.returncode, 1)
        self.assertIn("KERNELCAST_LIBTORCH=/nowhere has no lib/libtorch_cpu.so", result.stdout)

    def test_a_given_libtorch_needs_no_virtual_environment(self):
        self.all_packages_installed()
        (self.root / "other" / "lib").mkdir(parents=True)
        (self.root / "other" / "lib" / "libtorch_cpu.so").touch()
        result = self.call("setup", KERNELCAST_LIBTORCH=str(self.root / "other"))
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertFalse((self.root / ".venv").exists())

    def make_virtual_environment(self, pip):
        """A stand-in for .venv/bin/python which answers `-m pip --version` and else runs `pip`."""
        python = self.root / ".venv" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\n[ "$3" = --version ] && exit 0\necho "$@" >>{self.root}/pip-calls\n{pip}\n')
        python.chmod(0o755)

    def pip_calls(self):
        path = self.root / "pip-calls"
        return path.read_text().splitlines() if path.exists() else []

    def test_a_finished_set_is_not_installed_again(self):
        self.all_packages_installed()
        self.make_virtual_environment("exit 0")
        for _ in range(2):
            self.assertEqual(self.call("setup", "--gpu").returncode, 0)
        self.assertEqual(len(self.pip_calls()), 1)
        self.assertIn("torch==", self.pip_calls()[0])

    def test_a_killed_installation_is_continued_without_its_half_written_packages(self):
        self.all_packages_installed()
        self.make_virtual_environment("exit 1")
        half = self.root / ".venv/lib/python3.11/site-packages/half-1.0.dist-info"
        whole = self.root / ".venv/lib/python3.11/site-packages/whole-1.0.dist-info"
        for folder in (half, whole):
            folder.mkdir(parents=True)
            (folder / "METADATA").touch()
        (whole / "RECORD").touch()
        failed = self.call("setup", "--gpu")
        self.assertEqual(failed.returncode, 1)
        self.assertIn("call again to continue", failed.stdout)
        self.assertFalse(half.exists())
        self.assertTrue(whole.exists())
        self.call("setup")  # the full set was asked for and is not finished: a plain call goes on with it
        self.assertEqual(len(self.pip_calls()), 2)
        self.assertNotIn("--no-deps", self.pip_calls()[1])

    def test_other_pins_are_installed(self):
        self.all_packages_installed()
        self.make_virtual_environment("exit 0")
        self.call("setup")
        versions = self.root / "scripts" / "versions"
        versions.write_text(versions.read_text().replace("TORCH_VERSION=", "TORCH_VERSION=9"))
        self.call("setup")
        self.assertEqual(len(self.pip_calls()), 2)
        self.assertIn("torch==9", self.pip_calls()[1])


if __name__ == "__main__":
    unittest.main()
