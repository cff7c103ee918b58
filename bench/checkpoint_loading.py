#!/usr/bin/env python3
"""Load speed and peak memory beside safetensors and transformers, on a folder with gpt-oss-20b's shapes cut to a few
layers (random MXFP4 weights). Needs 10 GB of disk and, for transformers, about three times the expanded weights of memory.

  checkpoint_loading.py PROGRAM FOLDER [--layers 4] [--rounds 3] [--skip-transformers] [--out FILE.json]

PROGRAM is build/release/bin/checkpoint_loading; the folder is written when it has no config.json. Every load is a
process of its own; files are in the page cache (read once before), methods take turns.
"""
import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path


IMPORTED: list[float] = []  # processor seconds when the loading began


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def report(method: str, seconds: float, before: int, weights: int) -> None:
    print(json.dumps({"method": method, "load_s": seconds, "load_processor_s": time.process_time() - IMPORTED[0], "weights_gb": weights / 1e9,
                      "load_gb_per_s": weights / 1e9 / seconds, "peak_over_weights": (peak_bytes() - before) / weights}))


def load_safetensors(folder: Path) -> None:
    from safetensors.torch import load_file

    IMPORTED.append(time.process_time())
    before, start = peak_bytes(), time.perf_counter()
    tensors = {}
    for file in sorted(folder.glob("*.safetensors")):
        for name, tensor in load_file(file).items():
            tensors[name] = tensor.clone()  # mapped until then
    seconds = time.perf_counter() - start
    report("safetensors", seconds, before, sum(t.nbytes for t in tensors.values()))


def load_transformers(folder: Path) -> None:
    import torch
    from transformers import GptOssForCausalLM, Mxfp4Config

    IMPORTED.append(time.process_time())
    before, start = peak_bytes(), time.perf_counter()
    model = GptOssForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, attn_implementation="eager",
                                              quantization_config=Mxfp4Config(dequantize=True))
    seconds = time.perf_counter() - start
    report("transformers, dequantised", seconds, before, sum(p.nbytes for p in model.parameters()))


def run(command: list[str]) -> dict:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        return {"failed": result.returncode, "message": result.stderr[-300:]}
    return json.loads(result.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--skip-transformers", action="store_true")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", choices=["safetensors", "transformers"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        {"safetensors": load_safetensors, "transformers": load_transformers}[arguments.only](arguments.folder)
        return
    if not (arguments.folder / "config.json").exists():
        subprocess.run([arguments.program, "write", arguments.folder, str(arguments.layers)], check=True)
    for file in arguments.folder.glob("*.safetensors"):
        with file.open("rb") as stream:
            while stream.read(1 << 24):
                pass
    here = [sys.executable, __file__, arguments.program, str(arguments.folder), "--only"]
    methods = {"kernelcast, mxfp4": [arguments.program, "load", arguments.folder, "mxfp4"],
               "kernelcast, bf16": [arguments.program, "load", arguments.folder, "bf16"],
               "safetensors": [*here, "safetensors"]}
    if not arguments.skip_transformers:
        methods["transformers, dequantised"] = [*here, "transformers"]
    rows = []
    for number in range(arguments.rounds):
        for method, command in methods.items():
            rows.append({"round": number, "method": method} | run([str(part) for part in command]))
            print(json.dumps(rows[-1]), flush=True)
    if arguments.out:
        arguments.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
