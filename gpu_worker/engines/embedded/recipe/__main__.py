"""`python -m gpu_worker.engines.embedded.recipe --out DIRECTORY`: train the embedded model anew."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import torch

from gpu_worker.engines.embedded.recipe.batches import DESKS, REGISTERS
from gpu_worker.engines.embedded.recipe.curve import loss_curve_svg
from gpu_worker.engines.embedded.recipe.network import SIZES
from gpu_worker.engines.embedded.recipe.reading import measure_reading
from gpu_worker.engines.embedded.recipe.train import LATER_STAGES, Plan, Training, describe


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m gpu_worker.engines.embedded.recipe", description=__doc__)
    parser.add_argument(
        "--out", type=Path, required=True, help="directory of the model; goes on where it stopped"
    )
    parser.add_argument("--size", choices=sorted(SIZES), default=Plan.size)
    parser.add_argument("--steps", type=int, default=Plan.steps, help="dialogue steps after the copy warm-up")
    parser.add_argument("--seed", type=int, default=Plan.seed)
    parser.add_argument("--start", default="", help="directory of the stage before: train a later one")
    parser.add_argument("--stage", choices=sorted(LATER_STAGES), default="second", help="which stage that is")
    parser.add_argument("--bf16", action="store_true", help="multiply in bfloat16, faster on some processors")
    return parser.parse_args()


def _plan(given: argparse.Namespace) -> Plan:
    plan = Plan(size=given.size, seed=given.seed, steps=given.steps, bf16=given.bf16)
    return replace(plan, start=given.start, **LATER_STAGES[given.stage]) if given.start else plan


def main() -> None:
    given = _arguments()
    torch.set_num_threads(1)
    training = Training(_plan(given), given.out)
    training.run(lambda point: print(json.dumps(point), flush=True))
    lesson = REGISTERS if given.start else DESKS
    reading = measure_reading(training.network, training.tokenizer, lesson=lesson)
    record = {**describe(training), "reading": {"calls": reading.calls, "tokens": reading.tokens}}
    (given.out / "training.json").write_text(json.dumps(record) + "\n", encoding="utf-8")
    (given.out / "loss.svg").write_text(loss_curve_svg(training.curve), encoding="utf-8")
    print(f"calls right {reading.calls:.3f}, tokens in calls right {reading.tokens:.3f}")


if __name__ == "__main__":
    main()
