#!/usr/bin/env python3
"""Reference values of the GPT-OSS arithmetic, made by Hugging Face transformers (5.x, eager, fp32).

  make_gpt_oss.py reference FOLDER...  reads FOLDER/config.json, model.safetensors and inputs.safetensors (ids [B, T])
                                       and writes FOLDER/reference.safetensors: logits, kept (u8 [B, T]: 0 from the
                                       first position of a sequence whose router was nearly undecided), loss
                                       (next-token cross-entropy of kept rows) and grad.NAME of every parameter (both
                                       up to 1,000 tokens only), inverse_frequencies, and greedy [B, 64] after each
                                       sequence's first 8 tokens
  make_gpt_oss.py grid FOLDER          writes such folders, one per row of a design in which every pair of levels of
                                       two settings occurs, each with its reference values
  make_gpt_oss.py bfloat16 FOLDER...   of a model in bfloat16: exact (its weights in fp32), routing [L, N, k] (of that),
                                       logits in bfloat16 with that routing, flipped (share of choices that bfloat16
                                       changes where it is free)
  make_gpt_oss.py windowed FOLDER      of a model that only slides: logits of the positions in inputs.safetensors'
                                       rows, each from the tokens it can see, at their own positions
  make_gpt_oss.py golden FOLDER        makes tests/golden/gpt_oss: small random models with their reference values
"""
import itertools
import json
import random
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import GenerationConfig, GptOssConfig, GptOssForCausalLM

YARN = {"rope_type": "yarn", "rope_theta": 150000.0, "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
        "truncate": False, "original_max_position_embeddings": 4096}
SMALL = dict(vocab_size=32, hidden_size=16, intermediate_size=12, num_hidden_layers=2, num_local_experts=4,
             num_experts_per_tok=2, head_dim=8, num_attention_heads=4, num_key_value_heads=2, sliding_window=8)
# name: (configuration, length)
CASES = {
    "window": (SMALL, 24),
    "beyond_context": (SMALL | dict(rope_parameters=YARN | {"original_max_position_embeddings": 16, "factor": 4.0}), 40),
    "tied_top1": (SMALL | dict(num_experts_per_tok=1, tie_word_embeddings=True, num_key_value_heads=4, head_dim=6,
                               layer_types=["full_attention", "sliding_attention"], attention_bias=False,
                               rope_parameters=YARN | {"truncate": True, "rope_theta": 10000.0}), 20),
    "plain_rope": (SMALL | dict(num_experts_per_tok=4, num_key_value_heads=1,
                                rope_parameters={"rope_type": "default", "rope_theta": 10000.0}), 20),
    "clamped": (SMALL | dict(num_local_experts=6, num_experts_per_tok=3, swiglu_limit=1.5, swiglu_alpha=1.0,
                             layer_types=["sliding_attention", "sliding_attention"]), 20),
}
HALF = SMALL | dict(hidden_size=32, intermediate_size=24, num_local_experts=8, num_experts_per_tok=4)

# Settings of the grid and their levels. truncate None: the key is absent. layer_types "absent": likewise.
GRID = {
    "heads": [(4, 2), (4, 4), (6, 1), (8, 2)],  # query, key-value
    "head_dim": [8, 12, 64],
    "hidden_size": [16, 40],
    "intermediate_size": [12, 24],
    "experts": [(5, 2), (1, 1), (4, 1), (4, 4), (16, 4)],  # experts, chosen
    "sliding_window": [8, 1, 16, 128],
    "layer_types": ["absent", "sliding", "full", "full_first"],
    "rope": [None, (1.0, 4096), (4.0, 16), (8.0, 64), (32.0, 4096)],  # YaRN factor, original context; None: no YaRN
    "truncate": [False, True, None],
    "rope_theta": [150000.0, 1000.0, 10000.0, 500000.0],
    "clamp": [(7.0, 1.702), (1.5, 1.702), (7.0, 1.0)],  # swiglu limit, alpha
    "tie_word_embeddings": [False, True],
    "attention_bias": [True, False],
    "spelling": ["rope_parameters", "rope_scaling"],
    "length": [40, 5, 90],
}
GREEDY = GenerationConfig(do_sample=False, max_new_tokens=64, pad_token_id=0)  # no end token


def load(folder: Path, dtype: torch.dtype = torch.float32) -> GptOssForCausalLM:
    return GptOssForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager",
                                             experts_implementation="eager").eval()


def watch_routers(model, seen: list) -> list:
    """Appends (logits [N, E], chosen [N, k]) of each router to `seen` as it runs."""
    return [layer.mlp.router.register_forward_hook(lambda _, __, out: seen.append((out[0].detach(), out[2])))
            for layer in model.model.layers]


def kept_positions(routers: list, shape: torch.Size) -> torch.Tensor:
    kept = torch.ones(shape, dtype=torch.bool)
    for logits, chosen in routers:
        k = chosen.shape[1]
        if k < logits.shape[1]:
            top = logits.float().topk(k + 1, dim=1).values
            kept &= (top[:, k - 1] - top[:, k] >= 1e-5).view(shape)
    return kept.cumprod(1).bool()  # an exchanged expert also changes what follows


def reference(folder: Path) -> None:
    dtype = json.loads((folder / "config.json").read_text()).get("dtype", "float32")
    model = load(folder, getattr(torch, dtype))
    ids = load_file(folder / "inputs.safetensors")["ids"]
    small = ids.shape[1] <= 1000
    routers: list = []
    hooks = watch_routers(model, routers)
    with torch.set_grad_enabled(small):
        out = model(ids)
    for hook in hooks:
        hook.remove()
    kept = kept_positions(routers, ids.shape)
    values = {"logits": out.logits.detach().float().contiguous(), "kept": kept.to(torch.uint8),
              "inverse_frequencies": model.model.rotary_emb.inv_freq.clone()}
    if small:
        rows = kept[:, :-1].reshape(-1)
        loss = torch.nn.functional.cross_entropy(out.logits[:, :-1].reshape(-1, out.logits.shape[-1]).float()[rows],
                                                 ids[:, 1:].reshape(-1)[rows])
        loss.backward()
        values["loss"] = loss.detach().reshape(1)
        for name, parameter in model.named_parameters():
            values["grad." + name] = parameter.grad.float().contiguous()
        prompt = ids[:, :8]
        model.generation_config = GREEDY
        # With a window of 1, transformers' cache keeps everything (its slice from -(window - 1) starts at -0).
        longer = model.generate(prompt, attention_mask=torch.ones_like(prompt),
                                use_cache=model.config.sliding_window > 1)
        values["greedy"] = longer[:, prompt.shape[1]:].contiguous()
    save_file(values, folder / "reference.safetensors")


def forced(router, chosen: torch.Tensor):
    def forward(hidden):
        logits = torch.nn.functional.linear(hidden, router.weight, router.bias)
        values = logits.gather(1, chosen)
        return logits, torch.softmax(values, dim=1, dtype=values.dtype), chosen
    return forward


def bfloat16(folder: Path) -> None:
    ids = load_file(folder / "inputs.safetensors")["ids"]
    routers, free = [], []
    with torch.no_grad():
        exact = load(folder)
        watch_routers(exact, routers)
        logits = exact(ids).logits
        half = exact.bfloat16()
        watch_routers(half, free)
        half(ids)
        del routers[len(half.model.layers):]  # its hooks reported again
        flipped = [(a.sort(1).values != b.sort(1).values).any(1).float().mean() for (_, a), (_, b) in zip(routers, free)]
        for layer, (_, chosen) in zip(half.model.layers, list(routers)):
            layer.mlp.router.forward = forced(layer.mlp.router, chosen)
        routing = torch.stack([chosen for _, chosen in routers])
        values = {"exact": logits.contiguous(), "routing": routing, "logits": half(ids).logits.float().contiguous(),
                  "flipped": torch.stack(flipped).mean().reshape(1)}
    save_file(values, folder / "reference.safetensors")


def windowed(folder: Path) -> None:
    model = load(folder)
    inputs = load_file(folder / "inputs.safetensors")
    reach = len(model.model.layers) * (model.config.sliding_window - 1)
    logits = []
    with torch.no_grad():
        for row in inputs["rows"].tolist():
            first = max(0, row - reach)
            positions = torch.arange(first, row + 1).unsqueeze(0)
            logits.append(model(inputs["ids"][:, first:row + 1], position_ids=positions).logits[0, -1])
    save_file({"logits": torch.stack(logits)}, folder / "reference.safetensors")


def randomise(model: GptOssForCausalLM) -> None:
    """Every part matters: clamps are reached, sinks and biases are not zero."""
    deviation = 1.2 / model.config.hidden_size ** 0.5
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" in name:
                p.copy_(1 + 0.1 * torch.randn_like(p))
            elif name.endswith("gate_up_proj_bias"):
                p.normal_(0, 4.0)
            elif name.endswith("sinks") or "embed" in name:
                p.normal_(0, 1.0)
            else:
                p.normal_(0, deviation)


def write_case(folder: Path, settings: dict, length: int, seed: int, dtype: torch.dtype = torch.float32) -> None:
    torch.manual_seed(seed)
    model = GptOssForCausalLM(GptOssConfig(**settings)).float()
    randomise(model)
    model.to(dtype).save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    save_file({"ids": torch.randint(0, settings["vocab_size"], (2, length))}, folder / "inputs.safetensors")


def pairwise(levels: dict) -> list:
    """Rows in which each pair of levels of two settings occurs; greedy, the same every time."""
    rng = random.Random(1)
    names = list(levels)
    sizes = [len(levels[n]) for n in names]
    open_pairs = {(i, a, j, b) for i, j in itertools.combinations(range(len(names)), 2)
                  for a in range(sizes[i]) for b in range(sizes[j])}
    rows = []
    while open_pairs:
        best: tuple = (0, None)
        for _ in range(60):
            row = [None] * len(names)
            i, a, j, b = rng.choice(sorted(open_pairs))
            row[i], row[j] = a, b
            for f in rng.sample(range(len(names)), len(names)):
                if row[f] is None:
                    gain = [sum((min(f, g), *((c, g, row[g]) if f < g else (row[g], f, c))) in open_pairs
                                for g in range(len(names)) if row[g] is not None) for c in range(sizes[f])]
                    row[f] = rng.choice([c for c in range(sizes[f]) if gain[c] == max(gain)])
            covered = {(i, row[i], j, row[j]) for i, j in itertools.combinations(range(len(names)), 2)} & open_pairs
            best = max(best, (len(covered), row), key=lambda c: c[0])
        row = best[1]
        open_pairs -= {(i, row[i], j, row[j]) for i, j in itertools.combinations(range(len(names)), 2)}
        rows.append({n: levels[n][level] for n, level in zip(names, row)})
    return rows


def settings_of(row: dict) -> dict:
    types = {"absent": None, "sliding": ["sliding_attention"] * 3, "full": ["full_attention"] * 3,
             "full_first": ["full_attention", "sliding_attention", "full_attention"]}[row["layer_types"]]
    rope = {"rope_type": "default", "rope_theta": row["rope_theta"]}
    if row["rope"] is not None:
        factor, context = row["rope"]
        rope = YARN | {"rope_theta": row["rope_theta"], "factor": factor, "original_max_position_embeddings": context,
                       "truncate": row["truncate"]}
        if row["truncate"] is None:
            del rope["truncate"]
    same = {n: row[n] for n in ("head_dim", "hidden_size", "intermediate_size", "sliding_window", "tie_word_embeddings",
                                "attention_bias")}
    return same | dict(vocab_size=32, num_hidden_layers=3, num_attention_heads=row["heads"][0],
                       num_key_value_heads=row["heads"][1], num_local_experts=row["experts"][0],
                       num_experts_per_tok=row["experts"][1], layer_types=types, rope_parameters=rope,
                       swiglu_limit=row["clamp"][0], swiglu_alpha=row["clamp"][1])


def edit_config(file: Path, row: dict) -> None:
    """The spellings that published folders have."""
    config = json.loads(file.read_text())
    if row["layer_types"] == "absent":
        del config["layer_types"]
    if row["spelling"] == "rope_scaling":
        rope = config.pop("rope_parameters")
        config["rope_theta"] = rope.pop("rope_theta")
        config["rope_scaling"] = rope
    file.write_text(json.dumps(config, indent=1))


def grid(folder: Path) -> None:
    for i, row in enumerate(pairwise(GRID)):
        case = folder / f"case_{i:02}"
        write_case(case, settings_of(row), row["length"], 100 + i)
        (case / "row.json").write_text(json.dumps(row))
        edit_config(case / "config.json", row)
        reference(case)


def golden(folder: Path) -> None:
    for seed, (name, (settings, length)) in enumerate(CASES.items()):
        write_case(folder / name, settings, length, seed + 7)
        reference(folder / name)
    write_case(folder / "half", HALF, 16, 3, torch.bfloat16)
    bfloat16(folder / "half")


if __name__ == "__main__":
    actions = {f.__name__: f for f in (reference, grid, bfloat16, windowed, golden)}
    if len(sys.argv) < 3 or sys.argv[1] not in actions:
        sys.exit(__doc__)
    torch.set_num_threads(1)
    for argument in sys.argv[2:]:
        actions[sys.argv[1]](Path(argument))
