"""The project's C++ files, for the checking scripts."""
import argparse
import os
import pathlib

FOLDERS = ("base", "tokenizer", "harmony", "forecast", "dataset", "rewards", "measure", "serve", "cuda", "eval", "weights",
           "model", "rollout", "trainer", "search", "pipeline", "apps", "tests", "bench", "fuzz")


def root_argument(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="the tree to check (default: this checkout)")
    return parser


def cpp_files(root):
    """Paths relative to `root`, sorted. Kernels of task packs are data, not sources."""
    found = []
    for folder in FOLDERS:
        for where, _, names in os.walk(root / folder):
            found += [pathlib.Path(where, name).relative_to(root) for name in names if name.endswith((".cpp", ".h"))]
    return sorted(found)
