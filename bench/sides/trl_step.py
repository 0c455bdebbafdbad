"""TRL's side of C4: GRPOTrainer.train() on the same prompts.

python -m bench.sides.trl_step WORKLOAD.json '{"threads": 2, "micro_batch": 32, "dtype": "float32"}' STEPS
python -m bench.sides.trl_step WORKLOAD.json --logprobs SAMPLES.json   log-probabilities of our samples
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.sides.trl_trainer import grpo_trainer, set_threads
from bench.workload import WARM_UP, Workload, read_workload, reward

EXACT = {"threads": 1, "micro_batch": 1, "dtype": "float32"}
TOKENS: list[int] = []


def rewards(
    prompts: list[str], completions: list[str], completion_ids: list[list[int]], **_: Any
) -> list[float]:
    TOKENS.append(sum(map(len, completion_ids)))
    return [reward(completion, index) for index, completion in enumerate(completions)]


def clock() -> Any:
    """A callback that notes when each step ended."""
    from transformers import TrainerCallback

    class Clock(TrainerCallback):
        def __init__(self) -> None:
            self.ends: list[float] = []

        def on_step_end(self, *_: Any, **__: Any) -> None:
            self.ends.append(time.perf_counter())

    return Clock()


def trainer(work: Workload, directory: str, setting: dict[str, Any], steps: int, watch: Any) -> Any:
    return grpo_trainer(
        work.model,
        directory,
        setting,
        tries=work.tries,
        group_size=work.group_size,
        prompts=work.prompts,
        reward=rewards,
        callbacks=[watch],
        lora=(work.lora_rank, work.lora_alpha),
        max_completion_length=work.max_tokens,
        max_steps=WARM_UP + steps,
        learning_rate=work.learning_rate,
        seed=work.seed,
    )


def timed(work: Workload, directory: str, setting: dict[str, Any], steps: int) -> dict[str, Any]:
    watch = clock()
    trainer(work, directory, setting, steps, watch).train()
    ends = watch.ends
    seconds = [b - a for a, b in zip(ends[WARM_UP - 1 :], ends[WARM_UP:], strict=False)]
    return {
        "figure": statistics.median(seconds),
        "seconds": [round(one, 4) for one in seconds],
        "tokens": TOKENS[WARM_UP:],
    }


def logprobs(work: Workload, directory: str, samples: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What TRL's own learner makes of the other side's answers, and how it reads their prompts."""
    import torch

    learner = trainer(work, directory, EXACT, 1, clock())
    learner.model.eval()
    told = []
    for sample in samples:
        ids = torch.tensor([sample["prompt_ids"] + sample["token_ids"]])
        with torch.no_grad():
            found = learner._get_per_token_logps_and_entropies(
                learner.model, ids, torch.ones_like(ids), len(sample["token_ids"])
            )[0]
        read = learner.processing_class(text=[sample["prompt"]])["input_ids"][0]
        told.append({"logprobs": found[0].tolist(), "prompt_ids": list(read)})
    return told


def main() -> None:
    work = read_workload(Path(sys.argv[1]))
    exact = sys.argv[2] == "--logprobs"
    setting = EXACT if exact else json.loads(sys.argv[2])
    set_threads(setting)
    with tempfile.TemporaryDirectory() as directory:
        if exact:
            samples = json.loads(Path(sys.argv[3]).read_text())["samples"]
            told: dict[str, Any] = {"samples": logprobs(work, directory, samples)}
        else:
            told = timed(work, directory, setting, int(sys.argv[3]))
    print(json.dumps(told))


if __name__ == "__main__":
    main()
