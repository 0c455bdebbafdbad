"""Computing layers again in the backward pass changes no bit, and keeps little."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from gpu_worker.trainers import learner, recompute
from gpu_worker.trainers.full import FullTrainer
from gpu_worker.trainers.lora import LoraTrainer
from tests.gpu_worker.test_learner import JOB, a_batch


@pytest.mark.parametrize("rank", [0, 3])
def test_a_step_learns_the_same_bits_whether_layers_are_kept_or_computed_again(
    tiny_model: Path, rank: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner, "TOKEN_BUDGET", 40)
    found = []
    for kept in (10**12, 0):
        monkeypatch.setitem(recompute.KEPT, "cpu", kept)
        trainer = (LoraTrainer if rank else FullTrainer)(tiny_model, replace(JOB, lora_rank=rank))
        for seed in range(3):
            trainer.update(a_batch(random.Random(seed)))
        found.append(trainer.weights())
    assert all(torch.equal(x, found[1][name]) for name, x in found[0].items())


def test_only_the_input_of_a_layer_is_kept(tiny_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = a_batch(random.Random(2))
    pack = learner._packs(list(zip(batch.groups, batch.advantages, strict=True)))[0]

    def kept_floats() -> int:
        seen: dict[int, int] = {}

        def note(tensor: torch.Tensor) -> torch.Tensor:
            seen[tensor.data_ptr()] = tensor.numel() if len(tensor) == len(pack.ids_N) else 0
            return tensor

        trainer = LoraTrainer(tiny_model, JOB)
        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            learner._logprobs(trainer.policy, pack)
        return sum(seen.values())

    everything = kept_floats()
    monkeypatch.setitem(recompute.KEPT, "cpu", 0)
    assert kept_floats() < everything / 4
