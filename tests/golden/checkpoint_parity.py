#!/usr/bin/env python3
"""What Hugging Face transformers (4.56 or later) reads in checkpoints.

  checkpoint_parity.py decode FILE OUT     FILE holds blocks [E, out, in/32, 16] and scales [E, out, in/32]; OUT gets
                                           `bfloat16` and `float32` [E, in, out], by its own MXFP4 decoder
  checkpoint_parity.py tensors FOLDER OUT  opens FOLDER (MXFP4 dequantised) and writes every parameter, and `logits` of
                                           the tokens 1 to 24 in fp32
  checkpoint_parity.py write FOLDER        a small random model, as save_pretrained writes it, in bfloat16
"""
import json
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file


def decode(source: Path, out: Path) -> None:
    from transformers.integrations.mxfp4 import convert_moe_packed_tensors

    tensors = load_file(source)
    save_file({name: convert_moe_packed_tensors(tensors["blocks"], tensors["scales"], dtype=dtype).contiguous()
               for name, dtype in (("bfloat16", torch.bfloat16), ("float32", torch.float32))}, out)


def tensors(folder: Path, out: Path) -> None:
    from transformers import GptOssForCausalLM, Mxfp4Config

    config = json.loads((folder / "config.json").read_text())
    options = {"quantization_config": Mxfp4Config(dequantize=True)} if config.get("quantization_config") else {}
    model = GptOssForCausalLM.from_pretrained(folder, dtype=getattr(torch, config["dtype"]),
                                              attn_implementation="eager", experts_implementation="eager", **options)
    values = {name: value.contiguous().clone() for name, value in model.state_dict().items()}
    with torch.inference_mode():
        values["logits"] = model.float().eval()(torch.arange(1, 25)[None]).logits[0].contiguous()
    save_file(values, out)


def write(folder: Path) -> None:
    from transformers import GptOssConfig, GptOssForCausalLM

    torch.manual_seed(5)
    model = GptOssForCausalLM(GptOssConfig(vocab_size=80, hidden_size=64, intermediate_size=32, num_hidden_layers=2,
                                           num_local_experts=3, num_experts_per_tok=2, head_dim=8,
                                           num_attention_heads=4, num_key_value_heads=2, sliding_window=16))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.3)
    model.bfloat16().save_pretrained(folder, max_shard_size="60KB")


if __name__ == "__main__":
    torch.set_num_threads(1)
    modes = {"decode": (decode, 2), "tensors": (tensors, 2), "write": (write, 1)}
    if len(sys.argv) < 2 or sys.argv[1] not in modes or len(sys.argv) != 2 + modes[sys.argv[1]][1]:
        sys.exit(__doc__)
    modes[sys.argv[1]][0](*map(Path, sys.argv[2:]))
