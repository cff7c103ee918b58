#!/usr/bin/env python3
"""Low-rank adapters by the `peft` package over a tiny random GPT-OSS.

make_lora.py make VARIANT FOLDER       base/, adapter/, and inputs and logits in reference.safetensors
make_lora.py wide FOLDER               a small model with the published vocabulary of 201,088 rows
make_lora.py logits BASE ADAPTER FILE  the logits of base and adapter (- for none) on FILE's ids, into FILE.logits
"""
import pathlib
import sys

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import GptOssConfig, GptOssForCausalLM

ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
EXPERTS = ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"]
VARIANTS = {
    "all": dict(target_modules=ATTENTION + ["lm_head"], target_parameters=EXPERTS),
    "rslora": dict(target_modules=ATTENTION, target_parameters=EXPERTS, use_rslora=True),
    "transposed": dict(target_modules=ATTENTION, target_parameters=EXPERTS),
    "down_only": dict(target_modules=["q_proj"], target_parameters=["mlp.experts.down_proj"]),
    "gate_up_only": dict(target_modules=[], target_parameters=["mlp.experts.gate_up_proj"]),
    "one_layer": dict(target_modules=r".*\.self_attn\.[qv]_proj", target_parameters=["1.mlp.experts.down_proj"]),
    "all_linear": dict(target_modules="all-linear"),
}


def tiny_model():
    torch.manual_seed(7)
    config = GptOssConfig(
        vocab_size=72, hidden_size=24, intermediate_size=20, num_hidden_layers=2, num_local_experts=4,
        num_experts_per_tok=2, head_dim=8, num_attention_heads=4, num_key_value_heads=2, sliding_window=8,
        eos_token_id=1, pad_token_id=0)
    model = GptOssForCausalLM(config).float()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "norm" in name:
                p.copy_(1 + 0.1 * torch.randn_like(p))
            elif name.endswith("gate_up_proj_bias"):
                p.normal_(0, 4.0)
            elif name.endswith("sinks"):
                p.normal_(0, 1.0)
            else:
                p.normal_(0, 0.3)
    return model


def wide(folder):
    torch.manual_seed(3)
    config = GptOssConfig(
        vocab_size=201088, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_local_experts=4,
        num_experts_per_tok=2, head_dim=16, num_attention_heads=4, num_key_value_heads=2, sliding_window=128,
        eos_token_id=200002, pad_token_id=199999)
    model = GptOssForCausalLM(config).float()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "embed" in name:
                p.normal_(0, 1.0)
            elif not name.endswith("bias") and "norm" not in name and "sinks" not in name:
                p.normal_(0, 0.125)
    model.save_pretrained(folder, safe_serialization=True)


def open_base(folder):
    options = dict(dtype=torch.float32, attn_implementation="eager", experts_implementation="eager")
    return GptOssForCausalLM.from_pretrained(folder, **options).eval()


def make(variant, folder):
    tiny_model().save_pretrained(folder / "base", safe_serialization=True)
    model = open_base(folder / "base")
    if variant == "transposed":  # what peft writes where the experts do not say that they are transposed
        for module in model.modules():
            if hasattr(module, "is_transposed"):
                module.is_transposed = False
    config = LoraConfig(r=3, lora_alpha=7, lora_dropout=0.0, task_type="CAUSAL_LM", **VARIANTS[variant])
    model = get_peft_model(model, config).eval()
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "lora_" in name:
                p.normal_(0, 0.3)
    model.save_pretrained(folder / "adapter")
    ids = torch.randint(0, 72, (2, 40))
    with torch.no_grad():
        logits = model(ids).logits
    save_file({"ids": ids, "logits": logits.contiguous()}, folder / "reference.safetensors")


def logits(base, adapter, file):
    model = open_base(base)
    if adapter != "-":
        model = PeftModel.from_pretrained(model, adapter).eval()
    with torch.no_grad():
        out = model(load_file(file)["ids"]).logits
    save_file({"logits": out.contiguous()}, file + ".logits")


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], pathlib.Path(sys.argv[3]))
    elif sys.argv[1] == "wide":
        wide(pathlib.Path(sys.argv[2]))
    else:
        logits(*sys.argv[2:])
