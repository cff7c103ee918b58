#!/usr/bin/env python3
"""Reference values of the GPT-OSS arithmetic, made by Hugging Face transformers (5.x, eager, fp32).

  make_gpt_oss.py reference FOLDER   reads FOLDER/config.json, model.safetensors and inputs.safetensors (ids [B, T]) and
                                     writes FOLDER/reference.safetensors: logits, loss (next-token cross-entropy) and
                                     grad.NAME of every parameter
  make_gpt_oss.py golden FOLDER      makes tests/golden/gpt_oss: small random models with their reference values
"""
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from transformers import GptOssConfig, GptOssForCausalLM

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
}


def reference(folder: Path) -> None:
    dtype = json.loads((folder / "config.json").read_text()).get("dtype", "float32")
    model = GptOssForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype), attn_implementation="eager",
                                              experts_implementation="eager").eval()
    ids = load_file(folder / "inputs.safetensors")["ids"]
    out = model(ids, labels=ids)
    out.loss.backward()
    values = {"logits": out.logits.detach().float().contiguous(), "loss": out.loss.detach().float().reshape(1)}
    for name, parameter in model.named_parameters():
        values["grad." + name] = parameter.grad.float().contiguous()
    save_file(values, folder / "reference.safetensors")


def randomise(model: GptOssForCausalLM) -> None:
    """Every part matters: clamps are reached, sinks and biases are not zero."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" in name:
                p.copy_(1 + 0.1 * torch.randn_like(p))
            elif name.endswith("gate_up_proj_bias"):
                p.normal_(0, 4.0)
            elif name.endswith("sinks") or "embed" in name:
                p.normal_(0, 1.0)
            else:
                p.normal_(0, 0.3)


def golden(folder: Path) -> None:
    for seed, (name, (settings, length)) in enumerate(CASES.items()):
        torch.manual_seed(seed + 7)
        model = GptOssForCausalLM(GptOssConfig(**settings)).float()
        randomise(model)
        case = folder / name
        model.save_pretrained(case)
        (case / "generation_config.json").unlink(missing_ok=True)
        save_file({"ids": torch.randint(0, settings["vocab_size"], (2, length))}, case / "inputs.safetensors")
        reference(case)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("reference", "golden"):
        sys.exit(__doc__)
    torch.set_num_threads(1)
    {"reference": reference, "golden": golden}[sys.argv[1]](Path(sys.argv[2]))
