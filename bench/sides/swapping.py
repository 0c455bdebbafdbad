"""ArtWeb's side of C15: new weights in the middle of a decode, 32 rows of T6M.

    python -m bench.sides.swapping MODEL '{"rounds": 6}'   the pause, in milliseconds
    python -m bench.sides.swapping MODEL --adapters DIRECTORY   two LoRA adapters for the peer

A round is 32 tries; half-way `engine.adopt` is called with whole matrices for all linear layers, as a
training hands them over; a thread lays them out while decoding goes on. The pause is what adopting takes, and
what the next step or the one that swaps them in, whichever is longer, takes more than the median step
before; the figure is the median of the rounds. How long the steps are until the swap is told besides.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
from safetensors.torch import save_file
from torch import Tensor

from bench import t6m
from gpu_worker.engines.embedded.decoder import Decoder
from gpu_worker.engines.embedded.engine import EmbeddedEngine
from gpu_worker.rollout import at_once
from gpu_worker.types import Sampling

PROMPTS, GROUP, PROMPT_TOKENS, TOKENS = 4, 8, 256, 64
SWAP_AT = TOKENS // 2
SETTLED = 8
"""Steps at the beginning of a round that do not count: prompts are read in the first."""
RANK, ALPHA = 16, 32.0


class SwappingEngine(EmbeddedEngine):
    """Takes the time of every step, and adopts `new` weights before the step SWAP_AT."""

    new: Mapping[str, Tensor]
    adopting = 0.0
    swapped_at = 0

    def start(self, new: Mapping[str, Tensor]) -> None:
        self.new, self.steps = new, list[float]()

    def _swap_in(self) -> None:
        self.swapped_at = len(self.steps)
        super()._swap_in()

    def _step(self) -> None:
        if len(self.steps) == SWAP_AT:
            began = time.perf_counter()
            self.adopt(self.new)
            self.adopting = time.perf_counter() - began
        began = time.perf_counter()
        super()._step()
        self.steps.append(time.perf_counter() - began)


def linear_weights(model: str, seed: int) -> dict[str, Tensor]:
    """The matrices of all layers, a little changed."""
    generator = torch.Generator().manual_seed(seed)
    named = Decoder.load(Path(model)).named_parameters()
    return {
        name: weight.detach() + 1e-3 * torch.randn(weight.shape, generator=generator)
        for name, weight in named
        if weight.dim() == 2 and "embed" not in name
    }


async def play(engine: SwappingEngine, number: int) -> None:
    asked = [t6m.conversation(PROMPT_TOKENS, f"swap {number} {prompt}") for prompt in range(PROMPTS)]
    await at_once(
        [
            engine.chat(asked[at % PROMPTS], [], Sampling(max_tokens=TOKENS, seed=number * 1000 + at))
            for at in range(PROMPTS * GROUP)
        ]
    )


def pauses(model: str, rounds: int) -> dict[str, Any]:
    """Milliseconds, after one round to warm up."""
    engine = SwappingEngine(model, slots=PROMPTS * GROUP)
    weights = [linear_weights(model, seed) for seed in range(2)]
    told = []
    for number in range(rounds + 1):
        engine.start(weights[number % 2])
        asyncio.run(play(engine, number))
        told.append(pause(engine.steps, engine.adopting, engine.swapped_at))
    told = told[1:]
    return {"figure": statistics.median(one["pause"] for one in told), "rounds": told}


def pause(steps: list[float], adopting: float, swapped_at: int) -> dict[str, float]:
    """What a swap cost, in milliseconds."""
    before = statistics.median(steps[SETTLED:SWAP_AT])
    longest = max(steps[SWAP_AT], steps[swapped_at])
    return {
        "pause": 1000 * (adopting + max(0.0, longest - before)),
        "adopting": 1000 * adopting,
        "step_before": 1000 * before,
        "step_until_swapped": 1000 * statistics.median(steps[SWAP_AT : swapped_at + 1]),
        "steps_until_swapped": swapped_at - SWAP_AT,
    }


def write_adapters(model: str, directory: Path) -> None:
    """Two random LoRA adapters in PEFT's layout for all linear layers."""
    weights = linear_weights(model, 0)
    config = {"peft_type": "LORA", "task_type": "CAUSAL_LM", "r": RANK, "lora_alpha": ALPHA, "bias": "none"}
    modules = sorted({name.removesuffix(".weight").rpartition(".")[2] for name in weights})
    for name in ("a", "b"):
        place = directory / name
        place.mkdir(parents=True, exist_ok=True)
        tensors = {}
        for weight, matrix in weights.items():
            module = f"base_model.model.{weight.removesuffix('.weight')}"
            tensors[f"{module}.lora_A.weight"] = 0.02 * torch.randn(RANK, matrix.shape[1])
            tensors[f"{module}.lora_B.weight"] = 0.02 * torch.randn(matrix.shape[0], RANK)
        save_file(tensors, place / "adapter_model.safetensors", metadata={"format": "pt"})
        told = config | {"target_modules": modules, "base_model_name_or_path": model}
        (place / "adapter_config.json").write_text(json.dumps(told))


def main() -> None:
    torch.set_num_threads(1)
    if sys.argv[2] == "--adapters":
        write_adapters(sys.argv[1], Path(sys.argv[3]))
        print(json.dumps({"adapters": sys.argv[3]}))
    else:
        print(json.dumps(pauses(sys.argv[1], json.loads(sys.argv[2])["rounds"])))


if __name__ == "__main__":
    main()
