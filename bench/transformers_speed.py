#!/usr/bin/env python3
"""Tokens per second of Hugging Face transformers (eager) at the sizes of bench/model_speed.cpp, with its arguments:

  transformers_speed.py [small|medium|large] [float32|bfloat16] [threads] [rounds] [batch]
"""
import os
import sys
import time

import torch
from transformers import GptOssConfig, GptOssForCausalLM

PROMPT, NEW, VOCABULARY = 80, 24, 2048
COMMON = dict(vocab_size=VOCABULARY, head_dim=32, sliding_window=64, num_hidden_layers=4, num_experts_per_tok=2)
SIZES = {
    "small": dict(hidden_size=128, intermediate_size=128, num_attention_heads=4, num_key_value_heads=2,
                  num_local_experts=4),
    "medium": dict(hidden_size=256, intermediate_size=256, num_attention_heads=8, num_key_value_heads=4,
                   num_local_experts=8),
    "large": dict(hidden_size=512, intermediate_size=512, num_attention_heads=16, num_key_value_heads=8,
                  num_local_experts=16, num_hidden_layers=8, num_experts_per_tok=4),
}


def clocks() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


class Rate:
    """Best tokens per second by the wall clock and by the processor's time."""

    def __init__(self) -> None:
        self.wall = self.processor = 0.0

    def add(self, tokens: int, start: tuple[float, float]) -> None:
        wall, processor = clocks()
        self.wall = max(self.wall, tokens / (wall - start[0]))
        self.processor = max(self.processor, tokens / (processor - start[1]))


def main() -> None:
    arguments = dict(enumerate(sys.argv[1:]))
    size, dtype = arguments.get(0, "small"), arguments.get(1, "float32")
    torch.set_num_threads(int(arguments.get(2, 0)) or len(os.sched_getaffinity(0)))
    rounds, batch = int(arguments.get(3, 5)), int(arguments.get(4, 64))
    torch.manual_seed(1)
    model = GptOssForCausalLM._from_config(GptOssConfig(**(COMMON | SIZES[size])), attn_implementation="eager",
                                           dtype=getattr(torch, dtype))
    ids = torch.randint(0, VOCABULARY, (batch, PROMPT))
    train, sample = Rate(), Rate()
    for _ in range(rounds):
        model.train()
        start = clocks()
        model.zero_grad()
        model(ids, labels=ids, use_cache=False).loss.backward()
        train.add(ids.numel(), start)
        model.eval()
        start = clocks()
        with torch.inference_mode():
            model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW, min_new_tokens=NEW,
                           do_sample=True, top_k=0, pad_token_id=0)
        sample.add(batch * NEW, start)
    print(f"transformers  {size:6} {dtype:8} train {train.wall:6.0f} tokens/s ({train.processor:6.0f} by processor "
          f"time), sample {sample.wall:6.0f} ({sample.processor:6.0f})")


if __name__ == "__main__":
    main()
