#!/usr/bin/env python3
"""Token ids by tiktoken and by Hugging Face tokenizers, for the tests of byte-pair vocabularies and for the benchmark.

  reference.py parity FOLDER VOCABULARY [--bundle DIR] [--megabytes N] [--kernels N] [--json FILE]
      writes texts (NAME.txt) and ids: tiktoken's of o200k_harmony (NAME.tiktoken.i32) or, with FILE, a tokenizer.json,
      those of tokenizers (NAME.tokenizers.i32); VOCABULARY is o200k_base.tiktoken, gzip or not. In these names of
      special tokens are text; in those of named.txt, named.PACKAGE.i32, they are the tokens
  reference.py transformers FOLDER
      AutoTokenizer of FOLDER encodes text.txt to text.i32, decodes that to decoded.txt; named.txt: bos, eos, pad
  reference.py convert VOCABULARY FILE
      FILE becomes the tokenizer.json that transformers' own converter makes of VOCABULARY
  reference.py classes FILE
      one byte for each code point: what tiktoken's regular expressions take it for (see CLASSES)
Exit code 77: a package is missing.
"""
import argparse
import array
import gzip
import hashlib
import json
import os
import pathlib
import random
import sys
import tempfile

URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"
CLASSES = {r"[\p{Lu}\p{Lt}]": b"U", r"\p{Ll}": b"l", r"[\p{Lm}\p{Lo}]": b"o", r"\p{M}": b"m", r"\p{N}": b"n", r"\s": b"S"}

# Alphabets: first and last code points. Words are drawn from one alphabet each.
ALPHABETS = [(0x41, 0x5A), (0x61, 0x7A), (0xC0, 0x24F), (0x370, 0x3FF), (0x400, 0x52F), (0x531, 0x58F), (0x591, 0x5F4),
             (0x600, 0x6FF), (0x700, 0x74F), (0x900, 0x97F), (0x980, 0x9FF), (0xB80, 0xBFF), (0xE01, 0xE5B),
             (0xF00, 0xFDA), (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x137F), (0x13A0, 0x13FD),
             (0x1780, 0x17FF), (0x1E00, 0x1EFF), (0x1F00, 0x1FFF), (0x2000, 0x206F), (0x2100, 0x218F), (0x2190, 0x21FF),
             (0x2200, 0x22FF), (0x2500, 0x259F), (0x2C00, 0x2C5F), (0x3000, 0x30FF), (0x4E00, 0x9FFF), (0xA490, 0xA4CF),
             (0xA640, 0xA7FF), (0xAC00, 0xD7A3), (0xE000, 0xE0FF), (0xFB00, 0xFDFF), (0xFF00, 0xFFEF), (0x10400, 0x1044F),
             (0x10E60, 0x10E7E), (0x11F00, 0x11F59), (0x1D400, 0x1D7FF), (0x1E900, 0x1E95F), (0x1F300, 0x1FAFF),
             (0x20000, 0x2A6DF), (0x31350, 0x323AF), (0xE0100, 0xE01EF)]
SPACES = " \t\n\r\v\f\x85\xa0\u1680\u2003\u2028\u2029\u202f\u205f\u3000\u200b\u180e\ufeff"
ENDINGS = ["'s", "'S", "'\u017f", "'t", "'T", "'re", "'RE", "'rE", "'ve", "'m", "'ll", "'lL", "'d", "'x", "\u2019s", "''s"]


def kernels(bundle):
    texts = []
    for path in sorted(bundle.glob("gpu-timings/kernels_*.jsonl.gz")) if bundle else []:
        for line in gzip.open(path, "rt", encoding="utf-8"):
            texts += [value for value in json.loads(line).values() if isinstance(value, str) and len(value) > 100]
    return texts


def word(rng):
    first, last = rng.choice(ALPHABETS[:2] * 10 + ALPHABETS)
    text = "".join(chr(rng.randint(first, last)) for _ in range(rng.choice([1, 2, 3, 5, 8, 13])))
    text = rng.choice([text, text, text.capitalize(), text.upper(), text.lower()])
    if rng.random() < 0.15:
        text += "".join(chr(rng.choice([0x301, 0x300, 0x20DD, 0x93F, 0xFE0F, 0x1F3FB])) for _ in range(rng.randint(1, 3)))
    if rng.random() < 0.15:
        text += rng.choice(ENDINGS)
    return text


def space(rng):
    if rng.random() < 0.7:
        return " "
    return "".join(rng.choice(SPACES) for _ in range(rng.choice([1, 2, 3, 4, 9, 30])))


def mixed(rng):
    kind = rng.random()
    if kind < 0.55:
        return word(rng) + space(rng)
    if kind < 0.7:
        return "".join(rng.choice("0123456789") for _ in range(rng.randint(1, 12)))
    if kind < 0.85:
        return "".join(rng.choice("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~\n\r /'") for _ in range(rng.randint(1, 6)))
    if kind < 0.9:
        return rng.choice(["<|start|>", "<|end|>", "<|endofprompt|>", "<|reserved_200500|>", "<|", "|>"])
    return space(rng)


def any_character(rng):
    point = rng.randrange(0x110000 - 0x800)
    return chr(point if point < 0xD800 else point + 0x800)


def random_bytes(rng):
    """Bytes as far as they are text: each byte as one character, or what decodes."""
    raw = rng.randbytes(64)
    return rng.choice([raw.decode("latin-1"), raw.decode("utf-8", "ignore"), raw.decode("utf-8", "replace")])


def run(rng):
    length = rng.choice([10, 95, 96, 97, 98, 200, 1000, 3000])
    return rng.choice(["a", "A", " ", "0", "\n", "=", "-", "\u4e2d", "\u00e9", "\u0301", "aB", "ab", " \n", "\r\n", "/", "\t", "\U0001f600", "z ", "1a", "'s"]) * length


def texts(bundle, megabytes, kernel_megabytes):
    """Kernels of the bundle and, in megabytes, made text; deterministic."""
    share = int(megabytes * 1e6 / 5)
    yield "kernels", "\n".join(kernels(bundle))[:int(kernel_megabytes * 1e6)]
    for name, make, size in [("mixed", mixed, 2 * share), ("characters", any_character, share), ("bytes", random_bytes, share),
                             ("runs", run, share)]:
        rng = random.Random(name)
        parts, length = [], 0
        while length < size:
            parts.append(make(rng))
            length += len(parts[-1].encode())
        yield name, "".join(parts)


def read(path):
    raw = pathlib.Path(path).read_bytes()
    return gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw


def o200k_harmony(vocabulary, folder):
    """tiktoken's own encoding, from its cache, where the vocabulary is put."""
    (pathlib.Path(folder) / hashlib.sha1(URL.encode()).hexdigest()).write_bytes(read(vocabulary))
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    import tiktoken
    return tiktoken.get_encoding("o200k_harmony")


def parity(args):
    folder = pathlib.Path(args.folder)
    with tempfile.TemporaryDirectory() as cache:
        encoding = o200k_harmony(args.vocabulary, cache)
    # The two packages agree only on equal terms. tiktoken leaves it to the caller whether "<|end|>" in a text is text
    # (encode_ordinary) or a token (allowed_special); tokenizers always joins the added tokens of its file. So for user
    # text, where the name is text, tokenizers gets a file without any.
    package, plain, named = "tiktoken", encoding.encode_ordinary, lambda text: encoding.encode(text, allowed_special="all")
    if args.json:
        import tokenizers
        content = pathlib.Path(args.json).read_text(encoding="utf-8")
        without = tokenizers.Tokenizer.from_str(json.dumps(json.loads(content) | {"added_tokens": []}))
        joining = tokenizers.Tokenizer.from_str(content)
        package = "tokenizers"
        plain = lambda text: without.encode(text, add_special_tokens=False).ids
        named = lambda text: joining.encode(text, add_special_tokens=False).ids
    for name, text in texts(args.bundle, args.megabytes, args.kernels):
        (folder / f"{name}.txt").write_bytes(text.encode())
        array.array("i", plain(text)).tofile(open(folder / f"{name}.{package}.i32", "wb"))
        if name == "mixed":
            (folder / "named.txt").write_bytes(text[:500_000].encode())
            array.array("i", named(text[:500_000])).tofile(open(folder / f"named.{package}.i32", "wb"))


def convert(args):
    from transformers.convert_slow_tokenizer import TikTokenConverter
    with tempfile.TemporaryDirectory() as cache:
        encoding = o200k_harmony(args.vocabulary, cache)
        plain = pathlib.Path(cache) / "plain.tiktoken"
        plain.write_bytes(read(args.vocabulary))
        os.environ["TIKTOKEN_CACHE_DIR"] = ""
        made = TikTokenConverter(vocab_file=str(plain), pattern=encoding._pat_str).converted()
    import tokenizers
    named = sorted(encoding._special_tokens.items(), key=lambda item: item[1])
    seen = {}
    for name, number in named:
        if number <= 200018 and (number not in seen or "reserved" not in name):
            seen[number] = name
    made.add_special_tokens([tokenizers.AddedToken(name, normalized=False, special=True) for _, name in sorted(seen.items())])
    made.save(args.file)


def open_with_transformers(args):
    from transformers import AutoTokenizer
    opened = AutoTokenizer.from_pretrained(str(args.folder))
    ids = opened((args.folder / "text.txt").read_bytes().decode())["input_ids"]
    array.array("i", ids).tofile(open(args.folder / "text.i32", "wb"))
    (args.folder / "decoded.txt").write_bytes(opened.decode(ids).encode())
    (args.folder / "named.txt").write_text(f"{opened.bos_token} {opened.eos_token} {opened.pad_token}")


def classes(args):
    import tiktoken
    found = bytearray(b"." * 0x110000)
    points = [point for point in range(0x110000) if not 0xD800 <= point < 0xE000]
    for pattern, letter in CLASSES.items():
        # tiktoken drops what its pattern does not match.
        encoding = tiktoken.Encoding("class", pat_str=pattern, mergeable_ranks={bytes([b]): b for b in range(256)}, special_tokens={})
        for first in range(0, len(points), 4096):
            part = "".join(map(chr, points[first:first + 4096]))
            for character in bytes(encoding.encode_ordinary(part)).decode():
                found[ord(character)] = letter[0]
    pathlib.Path(args.file).write_bytes(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("parity")
    command.add_argument("folder")
    command.add_argument("vocabulary")
    command.add_argument("--bundle", type=pathlib.Path)
    command.add_argument("--megabytes", type=float, default=10)
    command.add_argument("--kernels", type=float, default=100)
    command.add_argument("--json")
    command.set_defaults(call=parity)
    command = commands.add_parser("transformers")
    command.add_argument("folder", type=pathlib.Path)
    command.set_defaults(call=open_with_transformers)
    command = commands.add_parser("convert")
    command.add_argument("vocabulary")
    command.add_argument("file")
    command.set_defaults(call=convert)
    command = commands.add_parser("classes")
    command.add_argument("file")
    command.set_defaults(call=classes)
    args = parser.parse_args()
    try:
        args.call(args)
    except ImportError as error:
        print(error, file=sys.stderr)
        sys.exit(77)


if __name__ == "__main__":
    main()
