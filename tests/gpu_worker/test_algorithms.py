"""Which combinations are refused, in which words, and that the trainer refuses them too."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpu_worker.algorithms import clip_bounds, refusal
from gpu_worker.trainers.lora import LoraTrainer
from gpu_worker.types import Job

ROOT = Path(__file__).parent.parent.parent
JOB = Job(run="r", environment="e")

MEANINGFUL: list[dict[str, Any]] = [
    {},
    {"loss": "ppo"},
    {"loss": "gspo"},
    {"loss": "gspo", "loss_mean": "try", "advantage_scale": "group"},
    {"loss": "ppo", "loss_mean": "constant", "advantage_scale": "none"},
    {"kl_in": "advantage", "kl_coefficient": 0.1},
    {"importance": "truncate", "off_policy_steps": 1, "optimizer_steps": 2},
    {"loss": "ppo", "importance": "mask", "importance_cap": 5.0},
    {"clip_low": 0.0, "clip_high": 0.0},
]
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"loss": "reinforce"}, "loss cannot be “reinforce”: it is one of cispo, ppo, gspo"),
    ({"loss_mean": "median"}, "token, try, constant"),
    ({"kl_in": "advantage"}, "kl_coefficient is 0"),
    ({"kl_coefficient": -0.1}, "a penalty is 0 or more"),
    ({"kl_coefficient": float("nan")}, "a penalty is 0 or more"),
    ({"clip_low": 1.5}, "from 0 to 1"),
    ({"clip_high": -0.1}, "from 1 upwards"),
    ({"clip_high": float("inf")}, "from 1 upwards"),
    ({"loss": "ppo", "clip_low": 0.0}, "both be above 0 with ppo"),
    ({"loss": "gspo", "importance": "mask"}, "gspo weighs whole tries"),
    ({"loss": "gspo", "importance": "truncate"}, "gspo weighs whole tries"),
    ({"importance": "mask", "importance_cap": 1.0}, "importance_cap is 1: it must be above 1"),
    ({"lora_rank": -1}, "0 to learn all weights"),
    ({"optimizer_steps": 0}, "at least one weight update"),
]


@pytest.mark.parametrize("knobs", MEANINGFUL)
def test_what_makes_sense_is_accepted(knobs: dict[str, Any]) -> None:
    assert refusal(replace(JOB, **knobs)) is None


@pytest.mark.parametrize(("knobs", "words"), REFUSED)
def test_what_makes_no_sense_is_refused_with_the_reason(knobs: dict[str, Any], words: str) -> None:
    sentence = refusal(replace(JOB, **knobs))
    assert sentence is not None
    assert words in sentence
    assert sentence.endswith(".")


def test_the_trainer_refuses_in_the_same_words(tiny_model: Path) -> None:
    job = replace(JOB, kl_in="advantage")
    with pytest.raises(ValueError, match="no penalty to put there"):
        LoraTrainer(tiny_model, job)


@pytest.mark.parametrize(
    ("loss", "bounds"), [("cispo", (1, 4)), ("ppo", (0.2, 0.28)), ("gspo", (3e-4, 4e-4))]
)
def test_bounds_left_empty_are_the_losss_own(loss: Any, bounds: tuple[float, float]) -> None:
    assert clip_bounds(replace(JOB, loss=loss)) == bounds
    assert clip_bounds(replace(JOB, loss=loss, clip_low=0.1)) == (0.1, bounds[1])
    assert clip_bounds(replace(JOB, loss=loss, clip_high=0.1)) == (bounds[0], 0.1)


def test_a_start_form_can_ask_without_loading_torch() -> None:
    code = "import sys, gpu_worker.algorithms; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert run.stdout.strip() == "False"
