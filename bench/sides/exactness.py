"""How closely the sampler's log-probabilities are the learner's, over whole order-desk tries.

    python -m bench.sides.exactness '{"prompts": 16, "group": 8, "tokens": 96}'

In bf16 and in fp32 the engine plays the tries; the learner computes every segment again in fp32. The figure
is the mean difference in bf16; how large it gets, and whether fp32 is equal to the bit, is told beside it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Literal

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from bench.sides.learning import learned_logprobs
from bench.sides.our_learn import segment, trainer_for
from bench.sides.record import played


def differences(options: dict[str, int], dtype: Literal["float32", "bfloat16"]) -> list[float]:
    """|sampler - learner| of every sampled token."""
    recording = played("desk", options, Path(), dtype)
    trainer = trainer_for(recording)
    found = []
    for one in recording.tries:
        sampled = [logprob for logprob, is_sampled in zip(one.logprobs, one.mask, strict=True) if is_sampled]
        learned = learned_logprobs(trainer, segment(one))
        found += [abs(a - b) for a, b in zip(sampled, learned, strict=True)]
    return found


def measured(options: dict[str, int]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for dtype in ("bfloat16", "float32"):
        found = differences(options, "bfloat16" if dtype == "bfloat16" else "float32")
        told[dtype] = {"mean": sum(found) / len(found), "most": max(found), "tokens": len(found)}
        told[dtype]["equal_to_the_bit"] = sum(value == 0.0 for value in found) / len(found)
    return told | {"figure": told["bfloat16"]["mean"]}


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(measured(json.loads(sys.argv[1]))))
