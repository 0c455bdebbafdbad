"""The peer's side of C1: transformers, `generate` or `generate_batch` (continuous batching).

    python -m bench.sides.transformers_rollouts WORKLOAD.json '{"path": "generate", "threads": 2, …}'
    python -m bench.sides.transformers_rollouts WORKLOAD.json --logprobs SAMPLES.json

What is off for it: logits processors (temperature 1, no top-k: none is made), log-probabilities of the
sampled tokens (ours come with them), padding (all prompts have the same length) and stopping (the model
never ends). `generate` is given the prompts once with num_return_sequences. `generate_batch` gets a cache
of as many blocks as the round needs; left alone it takes 90 % of the machine's memory.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from bench.workload import WARM_UP, Workload, read_workload

PAGE = 64
"""Positions in a block of continuous batching's cache."""


class Peer:
    """A loaded model and the prompts as ids."""

    def __init__(self, work: Workload, setting: dict[str, Any]) -> None:
        os.environ["OMP_NUM_THREADS"] = str(setting["threads"])
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(setting["threads"])
        self.work, self.setting, self.torch = work, setting, torch
        dtype = getattr(torch, setting["dtype"])
        self.model = AutoModelForCausalLM.from_pretrained(work.model, dtype=dtype).eval()
        tokenizer = AutoTokenizer.from_pretrained(work.model)
        self.prompts = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in work.prompts]

    def round(self, prompts: list[list[int]], seed: int) -> int:
        """Play a round; how many tokens were sampled."""
        self.torch.manual_seed(seed)
        return self._batch(prompts) if self.setting["path"] == "generate_batch" else self._generate(prompts)

    def _generate(self, prompts: list[list[int]]) -> int:
        ids = self.torch.tensor(prompts)
        told = self.model.generate(
            input_ids=ids,
            attention_mask=self.torch.ones_like(ids),
            do_sample=True,
            temperature=1.0,
            top_k=0,
            top_p=1.0,
            max_new_tokens=self.work.max_tokens,
            num_return_sequences=self.work.group_size,
            pad_token_id=0,
            cache_implementation=self.setting.get("cache"),
        )
        return int(told[:, ids.shape[1] :].numel())

    def _batch(self, prompts: list[list[int]]) -> int:
        from transformers import ContinuousBatchingConfig, GenerationConfig

        tries = [ids for ids in prompts for _ in range(self.work.group_size)]
        blocks = (max(map(len, tries)) + self.work.max_tokens) // PAGE + 2
        cache: dict[str, Any] = {
            "page_size": PAGE,
            "num_blocks": len(tries) * blocks,
            "max_batch_tokens": sum(map(len, tries)),
        }
        told = self.model.generate_batch(
            tries,
            generation_config=GenerationConfig(
                max_new_tokens=self.work.max_tokens,
                do_sample=True,
                temperature=1.0,
                top_k=0,
                top_p=1.0,
                eos_token_id=-1,
                pad_token_id=0,
            ),
            continuous_batching_config=ContinuousBatchingConfig(**cache),
            progress_bar=False,
        )
        return sum(len(one.generated_tokens) for one in told.values())


def timed(peer: Peer) -> dict[str, Any]:
    """Sampled tokens a second in each of setting["rounds"] rounds after one to warm up."""
    work, rates = peer.work, []
    rounds = peer.setting["rounds"] + WARM_UP
    for at in range(0, rounds * work.prompts_per_step, work.prompts_per_step):
        began = time.perf_counter()
        sampled = peer.round(peer.prompts[at : at + work.prompts_per_step], at)
        rates.append(sampled / (time.perf_counter() - began))
        if sampled != work.tries * work.max_tokens:
            raise RuntimeError(f"{sampled} tokens were sampled, not as many as asked for")
    return {"figure": statistics.median(rates[WARM_UP:]), "rounds": [round(rate) for rate in rates]}


def agreement(peer: Peer, samples: list[dict[str, Any]]) -> dict[str, Any]:
    """What the model itself says of the other side's tries, and its distribution of a first token."""
    torch, told = peer.torch, []
    for sample in samples:
        ids = torch.tensor([sample["prompt_ids"] + sample["token_ids"]])
        with torch.no_grad():
            logprobs_TV = peer.model(ids).logits[0].float().log_softmax(-1)
        given, sampled = len(sample["prompt_ids"]), torch.tensor(sample["token_ids"])
        taken = logprobs_TV[given - 1 : -1].gather(-1, sampled[:, None])
        told.append({"logprobs": taken[:, 0].tolist(), "first": logprobs_TV[given - 1].tolist()})
    return {
        "prompt_ids": peer.prompts[: len(samples)],
        "logprobs": [one["logprobs"] for one in told],
        "first": told[0]["first"],
    }


def main() -> None:
    work = read_workload(Path(sys.argv[1]))
    if sys.argv[2] == "--logprobs":
        samples = json.loads(Path(sys.argv[3]).read_text())["samples"]
        print(json.dumps(agreement(Peer(work, {"threads": 1, "dtype": "float32"}), samples)))
    else:
        print(json.dumps(timed(Peer(work, json.loads(sys.argv[2])))))


if __name__ == "__main__":
    main()
