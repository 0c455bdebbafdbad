"""TRL's learner on a recorded batch: its loss, backward, clipping and optimizer step, nothing else.

    python -m bench.sides.trl_learn RECORDING.json SETTING '{"steps": 5}'   seconds of an update
    python -m bench.sides.trl_learn RECORDING.json SETTING --gate DIRECTORY   what differs
    python -m bench.sides.trl_learn RECORDING.json SETTING --memory

The batch is padded as GRPOTrainer pads it (prompts left, completions right, to the longest of the batch),
and log-probabilities of the old policy are not computed again, as TRL leaves that out on-policy.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.device import CUDA, DEVICE, waited
from bench.memory import Peak
from bench.sides.trl_trainer import grpo_trainer, set_threads
from bench.workload import WARM_UP, Recording, Try, read_recording


class Learner:
    """GRPOTrainer's own compute_loss and optimizer, fed with recorded tries."""

    def __init__(self, recording: Recording, setting: dict[str, Any], directory: str) -> None:
        tries = recording.tries
        self.micro_batch = min(setting["micro_batch"], len(tries))
        self.trainer = grpo_trainer(
            recording.model,
            directory,
            setting,
            tries=len(tries),
            group_size=len(recording.groups[0]),
            prompts=["none"],
            reward=lambda **_: [0.0],
            lora=(recording.lora_rank, recording.lora_alpha),
            max_completion_length=max(len(one.ids) - one.prompt for one in tries),
            max_steps=1,
            learning_rate=recording.learning_rate,
        )
        self.model = self.trainer.model.train()
        self.trainer.current_gradient_accumulation_steps = -(-len(tries) // self.micro_batch)
        self.optimizer = self.trainer.create_optimizer()

    def backward(self, inputs: dict[str, Any]) -> None:
        """Gradients of the whole batch, one micro-batch after the other."""
        rows = len(inputs["prompt_ids"])
        for start in range(0, rows, self.micro_batch):
            part = {
                name: value[start : start + self.micro_batch] if value.dim() else value
                for name, value in inputs.items()
            }
            self.trainer.compute_loss(self.model, part).backward()

    def update(self, inputs: dict[str, Any]) -> None:
        import torch

        self.backward(inputs)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.trainer.args.max_grad_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        waited()


def inputs_of(tries: tuple[Try, ...], *, old: bool = False) -> dict[str, Any]:
    """What GRPOTrainer's loss reads, padded as it pads."""
    import torch

    before = max(one.prompt for one in tries)
    after = max(len(one.ids) - one.prompt for one in tries)

    def left(values: Any, fill: float) -> list[float]:
        return [fill] * (before - len(values)) + list(values)

    def right(values: Any, fill: float) -> list[float]:
        return list(values) + [fill] * (after - len(values))

    columns = {
        "prompt_ids": [left(one.ids[: one.prompt], 0) for one in tries],
        "prompt_mask": [left([1] * one.prompt, 0) for one in tries],
        "completion_ids": [right(one.ids[one.prompt :], 0) for one in tries],
        "completion_mask": [right([1] * (len(one.ids) - one.prompt), 0) for one in tries],
        "tool_mask": [right([int(sampled) for sampled in one.mask[one.prompt :]], 0) for one in tries],
    }
    inputs: dict[str, Any] = {name: torch.tensor(rows, device=DEVICE) for name, rows in columns.items()}
    inputs["advantages"] = torch.tensor([one.advantage for one in tries], device=DEVICE)
    inputs["num_items_in_batch"] = inputs["tool_mask"].sum()
    if old:
        rows = [right(one.logprobs[one.prompt :], 0.0) for one in tries]
        inputs["old_per_token_logps"] = torch.tensor(rows, device=DEVICE)
    return inputs


def timed(learner: Learner, inputs: dict[str, Any], steps: int) -> dict[str, Any]:
    seconds = []
    for _ in range(WARM_UP + steps):
        began = time.perf_counter()
        learner.update(inputs)
        seconds.append(time.perf_counter() - began)
    told = {"seconds": [round(one, 4) for one in seconds], "tokens": int(inputs["num_items_in_batch"])}
    return told | {"figure": statistics.median(seconds[WARM_UP:])}


def gate(learner: Learner, recording: Recording, directory: Path) -> dict[str, Any]:
    """With ArtWeb's adapter: the largest difference of a log-probability, and the gradients' cosine."""
    import torch
    from peft import set_peft_model_state_dict
    from safetensors.torch import load_file

    set_peft_model_state_dict(learner.model, load_file(directory / "adapter_model.safetensors"))
    told = {
        "logprobs": _difference(learner, recording, json.loads((directory / "logprobs.json").read_text()))
    }
    learner.backward(inputs_of(recording.tries, old=True))
    ours = load_file(directory / "gradient.safetensors")
    theirs = {
        name.replace(".default", ""): parameter.grad
        for name, parameter in learner.model.named_parameters()
        if parameter.requires_grad
    }
    if set(ours) != set(theirs):
        raise ValueError(f"different parameters: {sorted(set(ours) ^ set(theirs))[:4]}")
    a = torch.cat([ours[name].flatten().double() for name in sorted(ours)])
    b = torch.cat([theirs[name].flatten().double().cpu() for name in sorted(ours)])
    return told | {"cosine": float(a @ b / (a.norm() * b.norm()))}


def _difference(learner: Learner, recording: Recording, ours: list[list[float]]) -> float:
    import torch

    largest = 0.0
    for one, logprobs in zip(recording.tries, ours, strict=True):
        ids = torch.tensor([one.ids], device=DEVICE)
        completion = len(one.ids) - one.prompt
        with torch.no_grad():
            found = learner.trainer._get_per_token_logps_and_entropies(
                learner.model, ids, torch.ones_like(ids), completion
            )[0][0]
        sampled = found.float().cpu()[torch.tensor(one.mask[one.prompt :])]
        largest = max(largest, float((sampled - torch.tensor(logprobs)).abs().max()))
    return largest


def memory(learner: Learner, recording: Recording) -> dict[str, Any]:
    """The peak of an update above what model and optimizer hold after one on short tries."""
    learner.update(inputs_of(tuple(_cut(one) for one in recording.tries[:2])))
    inputs = inputs_of(recording.tries)
    peak = Peak(cuda=CUDA)
    learner.update(inputs)
    return {"figure": peak.megabytes(), "base_mb": peak.base_mb}


def _cut(one: Try, sampled: int = 4) -> Try:
    keep = slice(one.prompt - 1, one.prompt + sampled)
    return Try(one.ids[keep], one.mask[keep], one.logprobs[keep], one.advantage)


def main() -> None:
    recording, setting, what = read_recording(Path(sys.argv[1])), json.loads(sys.argv[2]), sys.argv[3]
    set_threads(setting)
    with tempfile.TemporaryDirectory() as directory:
        learner = Learner(recording, setting, directory)
        if what == "--gate":
            told = gate(learner, recording, Path(sys.argv[4]))
        elif what == "--memory":
            told = memory(learner, recording)
        else:
            told = timed(learner, inputs_of(recording.tries), json.loads(what)["steps"])
    print(json.dumps(told))


if __name__ == "__main__":
    main()
