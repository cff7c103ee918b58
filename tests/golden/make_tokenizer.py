#!/usr/bin/env python3
"""Makes tests/golden/tokenizer: a small byte-pair vocabulary with o200k's split pattern, and tiktoken's ids for texts.

  make_tokenizer.py        writes tiny.tiktoken (ranks) and vectors.json ([{text, ids}], ids by tiktoken)
"""
import base64
import collections
import json
import pathlib
import random
import sys

import regex
import tiktoken

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tokenizer"))
import reference

TOKENS = 700
PATTERN = "|".join([
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
    r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
CORPUS = """
extern "C" __global__ void scale_rows(const float* __restrict__ input, float* output, int rows, int columns) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int column = 0; column < columns; ++column) sum += input[row * columns + column];
  for (int column = 0; column < columns; ++column) output[row * columns + column] /= sum;
}
The kernel reads each row twice. It's slower than a version that keeps the row in registers, isn't it? We'd expect 1.25x.
Der Kern liest jede Zeile zweimal, das ist langsam. Le noyau lit chaque ligne deux fois ; c'est lent. \u042f\u0434\u0440\u043e \u0447\u0438\u0442\u0430\u0435\u0442 \u0441\u0442\u0440\u043e\u043a\u0443 \u0434\u0432\u0430\u0436\u0434\u044b.
\u03bf \u03c0\u03c5\u03c1\u03ae\u03bd\u03b1\u03c2 \u03b4\u03b9\u03b1\u03b2\u03ac\u03b6\u03b5\u03b9 \u03ba\u03ac\u03b8\u03b5 \u03b3\u03c1\u03b1\u03bc\u03bc\u03ae \u03b4\u03cd\u03bf \u03c6\u03bf\u03c1\u03ad\u03c2. \u5185\u6838\u628a\u6bcf\u4e00\u884c\u8bfb\u4e24\u904d\u3002\u30ab\u30fc\u30cd\u30eb\u306f\u5404\u884c\u3092\u4e8c\u5ea6\u8aad\u3080\u3002
{"speedup": 1.25, "bin": "minor_speedup", "probabilities": [0.01, 0.02, 0.05, 0.12, 0.4, 0.3, 0.08, 0.02]}
================================================================  aaaaaaaaaaaaaaaa    \t\t\n\n\n\n
"""


def learn(text, size):
    """Plain byte-pair training: the most frequent pair first, the smallest of equals."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    words = collections.Counter(tuple(bytes([b]) for b in piece.encode()) for piece in regex.findall(PATTERN, text))
    while len(ranks) < size:
        pairs = collections.Counter()
        for word, count in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += count
        if not pairs:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        ranks.setdefault(best[0] + best[1], len(ranks))
        joined = collections.Counter()
        for word, count in words.items():
            out = []
            for token in word:
                if out and (out[-1], token) == best:
                    out[-1] += token
                else:
                    out.append(token)
            joined[tuple(out)] += count
        words = joined
    return ranks


def vectors(encoding):
    rng = random.Random(4)
    texts = ["", " ", "\n", "hello world", "It's WE'LL I\u2019m they'\u017f", CORPUS, "<|start|>user<|message|>x<|end|>"]
    makers = [reference.mixed, reference.word, reference.space, reference.any_character, reference.random_bytes]
    for _ in range(150):
        make = rng.choice(makers)
        texts.append("".join(make(rng) for _ in range(rng.choice([1, 3, 10])))[:80])
    texts += [character * 150 for character in "a =\u4e2d\u0301\n"] + ["kernel" * 40, "Ab" * 60, "row_" * 50, "aa\u00e9" * 50]
    return [{"text": text, "ids": encoding.encode_ordinary(text)} for text in texts]


def main():
    folder = HERE / "tokenizer"
    folder.mkdir(exist_ok=True)
    ranks = learn(CORPUS, TOKENS)
    lines = [base64.b64encode(token).decode() + f" {rank}\n" for token, rank in ranks.items()]
    (folder / "tiny.tiktoken").write_text("".join(lines))
    encoding = tiktoken.Encoding("tiny", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in vectors(encoding))
    (folder / "vectors.json").write_text(f"[\n{rows}\n]\n")
    print(f"{len(ranks)} tokens")


if __name__ == "__main__":
    main()
