#!/usr/bin/env python3
"""Our byte-pair encoder beside tiktoken: the same texts, one core, rounds in turn, best processor time of each.

  tokenizer_speed.py PROGRAM VOCABULARY [--bundle DIR] [--rounds N] [--out FILE]
      PROGRAM is build/*/bin/tokenizer_speed, VOCABULARY o200k_base.tiktoken (gzip or not); texts are those of
      tests/tokenizer/reference.py: kernels of the bundle, mixed scripts, random characters, random bytes, long runs
"""
import argparse
import array
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/tokenizer"))
import reference


def timed(call):
    start = time.process_time()
    result = call()
    return result, time.process_time() - start


def compare(program, plain, encoding, folder, name, text, rounds):
    path = folder / f"{name}.txt"
    path.write_bytes(text.encode())
    best = {"ours_s": 1e30, "tiktoken_s": 1e30, "ours_decode_s": 1e30, "tiktoken_decode_s": 1e30}
    ratios = []
    for _ in range(rounds):
        ours = json.loads(subprocess.run([program, plain, path, "1"], check=True, capture_output=True).stdout)
        ids, encode_s = timed(lambda: encoding.encode_ordinary(text))
        _, decode_s = timed(lambda: encoding.decode_bytes(ids))
        if hashlib.sha256(array.array("i", ids).tobytes()).hexdigest() != ours["ids_sha256"]:
            sys.exit(f"{name}: the ids differ")
        ratios.append(encode_s / ours["encode_s"])
        for key, value in {"ours_s": ours["encode_s"], "tiktoken_s": encode_s, "ours_decode_s": ours["decode_s"],
                           "tiktoken_decode_s": decode_s}.items():
            best[key] = min(best[key], value)
    size = len(text.encode())
    return {"text": name, "bytes": size, "tokens": len(ids), "load_s": ours["load_s"],
            "ours_mb_per_s": round(size / best["ours_s"] / 1e6, 1), "tiktoken_mb_per_s": round(size / best["tiktoken_s"] / 1e6, 1),
            "ratio": round(best["tiktoken_s"] / best["ours_s"], 2), "ratio_of_rounds": [round(min(ratios), 2), round(max(ratios), 2)],
            "ours_decode_mb_per_s": round(size / best["ours_decode_s"] / 1e6), "tiktoken_decode_mb_per_s": round(size / best["tiktoken_decode_s"] / 1e6)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("vocabulary")
    parser.add_argument("--bundle", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path)
    args = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # the child processes inherit it
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        plain = folder / "o200k_base.tiktoken"
        plain.write_bytes(reference.read(args.vocabulary))
        encoding = reference.o200k_harmony(args.vocabulary, folder)
        for kind, text in reference.texts(args.bundle, 10, 100):
            if text:
                rows.append(compare(args.program, plain, encoding, folder, kind, text, args.rounds))
                print(json.dumps(rows[-1]))
    if args.out:
        args.out.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
