#!/usr/bin/env python3
"""Compile latency of the warm worker beside a cold nvcc on the same sources: random rows of the GPU timings bundle, by task;
and the share of model-written kernels whose device code can be extracted and compiled. Prints a table, writes JSON."""
import argparse
import collections
import gzip
import json
import pathlib
import random
import re
import resource
import statistics
import subprocess
import tempfile
import time


def read_lines(path):
    with gzip.open(path, "rt") as file:
        return [json.loads(line) for line in file]


def unit_of(row, task, sources):
    """The text that the tuner compiled (README of the bundle), headers beside the template put in their place."""
    source = sources[row["kernel_file"]]
    folder = row["kernel_file"].rsplit("/", 1)[0]
    source = re.sub(r'#include "([\w.]+)"', lambda m: sources.get(f"{folder}/{m[1]}", m[0]), source)
    # NVRTC refuses the whole of CUB (it holds host code); this is the part that is used.
    source = source.replace("<cub/cub.cuh>", "<cub/block/block_reduce.cuh>")
    lines = []
    if row["tool"] == "kernel_tuner":
        lines += [f"#define grid_size_{axis} {n}" for axis, n in zip("xyz", row["grid"])]
        lines += [f"#define {name} {n}" for name, n in zip(task["block_names"], row["block"])]
    for name, value in row["params"].items():
        if row["tool"] == "kernel_tuner" and name in task["block_names"]:
            continue
        if "loop_unroll_factor" in name:
            lines.append(f"constexpr int {name} = {value};")
            if value == 0:
                source = source.replace(f"#pragma unroll {name}", "")
        else:
            lines.append(f"#define {name} {value}")
            source = re.sub(rf"(#pragma unroll) {name}\b", rf"\1 {value}", source)
    if row["tool"] == "kernel_tuner":
        lines.append("#define kernel_tuner 1")
    return "\n".join(lines) + "\n#line 1\n" + source


def run_worker(program, mode, arch, manifest):
    text = "".join(f"{path}\t{' '.join(options)}\n" for path, options in manifest)
    output = subprocess.run([program, mode, arch], input=text, text=True, check=True, stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in output.splitlines()]


def run_nvcc(nvcc, arch, path, options, folder):
    start = time.monotonic()
    result = subprocess.run([nvcc, "-cubin", f"-arch={arch}", "-std=c++17", *options, "-o", folder / "cold.cubin", path],
                            capture_output=True, check=False)
    return 1e3 * (time.monotonic() - start), result.returncode == 0


def children_cpu_ms():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (usage.ru_utime + usage.ru_stime)


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def compare(arguments, folder):
    bundle = arguments.bundle
    tasks = json.loads((bundle / "tasks.json").read_text())
    tasks = tasks.get("tasks", tasks)
    sources = {k["kernel_file"]: k["source"] for k in read_lines(bundle / "kernels_tuned.jsonl.gz")}
    by_task = collections.defaultdict(list)
    for row in read_lines(bundle / "rows_tuned.jsonl.gz"):
        if row["lang"] == "cuda" and row["status"] == "ok":
            by_task[row["task"]].append(row)
    choice = random.Random(arguments.seed)
    results = {}
    for name, rows in sorted(by_task.items()):
        if arguments.tasks and name not in arguments.tasks:
            continue
        options = [o for o in tasks[name].get("compiler_options") or [] if o == "-use_fast_math"]
        manifest = []
        for i, row in enumerate(choice.sample(rows, min(arguments.rows, len(rows)))):
            path = folder / f"{name}-{i}.cu"
            path.write_text(unit_of(row, tasks[name], sources))
            manifest.append((path, options))
        cpu = [children_cpu_ms()]
        warm = run_worker(arguments.program, "compile", arguments.arch, manifest)
        cpu.append(children_cpu_ms())  # with the worker's start, about 100 ms
        cold = []
        if arguments.nvcc:
            cold = [run_nvcc(arguments.nvcc, arguments.arch, path, options, folder) for path, options in manifest]
        times = [w["ms"] for w in warm]
        results[name] = {
            "rows": len(warm), "compiled": sum(w["ok"] for w in warm), "warm_median_ms": statistics.median(times),
            "warm_p90_ms": percentile(times, .9), "warm_worst_ms": max(times),
            "warm_mean_cpu_ms": (cpu[1] - cpu[0]) / len(warm), "known_source_worst_ms": max(w["again_ms"] for w in warm)}
        if cold:
            results[name]["nvcc_median_ms"] = statistics.median(ms for ms, _ in cold)
            results[name]["nvcc_mean_cpu_ms"] = (children_cpu_ms() - cpu[1]) / len(cold)
            results[name]["nvcc_compiled"] = sum(ok for _, ok in cold)
            results[name]["ratio_median"] = statistics.median(ms / t for (ms, _), t in zip(cold, times))
        print(name, json.dumps({k: round(v, 2) for k, v in results[name].items()}), flush=True)
    return results


def extract(arguments, folder):
    kernels = read_lines(arguments.bundle / "kernels_llm.jsonl.gz")
    used = {row["kernel_file"] for row in read_lines(arguments.bundle / "rows_llm.jsonl.gz")}
    kernels = [k for k in kernels if k["kernel_file"] in used]
    kernels = random.Random(arguments.seed).sample(kernels, min(arguments.extract, len(kernels)))
    manifest = []
    for i, kernel in enumerate(kernels):
        path = folder / f"extract-{i}.txt"
        path.write_text(kernel["source"])
        manifest.append((path, []))
    rows = run_worker(arguments.program, "extract", arguments.arch, manifest)
    parts = collections.defaultdict(collections.Counter)
    reasons = collections.Counter()
    faults = collections.Counter()
    for kernel, row in zip(kernels, rows):
        has_cuda = "__global__" in kernel["source"]
        part = kernel["kernel_file"].split("/")[0] + (", has CUDA" if has_cuda else ", PyTorch only")
        parts[part]["kernels"] += 1
        parts[part]["extracted"] += row["extracted"]
        parts[part]["compiled"] += row["ok"] and row.get("kernels", 0) > 0
        if not row["extracted"]:
            reasons[re.sub(r"needs \S+,", "needs a library,", row["log"])] += 1
        elif not row["ok"]:
            fault = re.search(r"error: (.*)", row["log"])
            faults[fault[1][:90] if fault else row["log"][:90]] += 1
    for name, part in sorted(parts.items()):
        print(name, dict(part))
    print("refused:", dict(reasons.most_common(12)))
    print("did not compile:", dict(faults.most_common(arguments.faults)))
    return {"parts": parts, "refused": reasons, "did_not_compile": dict(faults.most_common(arguments.faults))}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundle", type=pathlib.Path, required=True)
    parser.add_argument("--program", default="build/ci/bin/cuda_compile")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--rows", type=int, default=12, help="of each task")
    parser.add_argument("--tasks", nargs="*", help="only these")
    parser.add_argument("--extract", type=int, default=0, help="model-written kernels to extract (0: none)")
    parser.add_argument("--faults", type=int, default=12)
    parser.add_argument("--nvcc", default="", help="a cold compiler to compare with, e.g. /usr/local/cuda/bin/nvcc")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        results = {"latency": compare(arguments, folder) if arguments.rows else {}}
        if arguments.extract:
            results["extraction"] = extract(arguments, folder)
    if arguments.out:
        arguments.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
