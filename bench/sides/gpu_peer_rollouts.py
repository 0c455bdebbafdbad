"""The peer's side of H1: transformers' generate or generate_batch in bf16 on BENCH_DEVICE.

python -m bench.sides.gpu_peer_rollouts DIRECTORY '{"prompts": 32, …}' '{"path": "generate"}'
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from bench import t6m
from bench.device import CUDA, DEVICE, name, waited


class Peer:
    """The model, and rounds of prompts as ids."""

    def __init__(self, directory: str, options: dict[str, int]) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        dtype = torch.bfloat16 if CUDA else torch.float32
        self.options, self.torch = options, torch
        model: Any = AutoModelForCausalLM.from_pretrained(directory, dtype=dtype)
        self.model = model.to(DEVICE).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(directory)

    def prompts(self, seed: int) -> list[list[int]]:
        """As many ids as our side's conversations have."""
        count = self.options["prompt_tokens"]
        texts = [t6m.text(count, f"{seed} {number}") for number in range(self.options["prompts"])]
        return [self.tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]

    def generate(self, prompts: list[list[int]]) -> int:
        ids = self.torch.tensor(prompts, device=DEVICE)
        told = self.model.generate(
            input_ids=ids,
            attention_mask=self.torch.ones_like(ids),
            do_sample=True,
            top_k=0,
            max_new_tokens=self.options["tokens"],
            num_return_sequences=self.options["group"],
            pad_token_id=0,
        )
        return int((told[:, ids.shape[1] :] != 0).sum())

    def generate_batch(self, prompts: list[list[int]]) -> int:
        from transformers import GenerationConfig

        tries = [ids for ids in prompts for _ in range(self.options["group"])]
        config = GenerationConfig(
            max_new_tokens=self.options["tokens"], do_sample=True, top_k=0, eos_token_id=-1, pad_token_id=0
        )
        told = self.model.generate_batch(tries, generation_config=config, progress_bar=False)
        return sum(len(one.generated_tokens) for one in told.values())


def timed(peer: Peer, path: str) -> dict[str, Any]:
    play = peer.generate_batch if path == "generate_batch" else peer.generate
    rates = []
    for seed in range(3):
        prompts = peer.prompts(seed)
        began = time.perf_counter()
        tokens = play(prompts)
        waited()
        rates.append(tokens / (time.perf_counter() - began))
    return {"figure": max(rates[1:]), "rounds": rates, "device": name()}


if __name__ == "__main__":
    print(json.dumps(timed(Peer(sys.argv[1], json.loads(sys.argv[2])), json.loads(sys.argv[3])["path"])))
