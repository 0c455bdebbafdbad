"""Runs a bar: both sides in turn, in fresh processes on the same cores, and prints what came out.

    python bench/run.py grpo-step --pairs 5 --json

First the sides must agree: same weights, same prompts, log-probabilities of the same answers within 1e-4.
Then the peer is tried at each of its settings and runs at its fastest. The bar is met when the worst pair
meets it. Figures from a busy machine mean little; the load is printed with them.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
sys.path.insert(0, str(ROOT))

from workload import Workload  # noqa: E402

from gpu_worker.engines.embedded.chat import Chat  # noqa: E402
from gpu_worker.engines.embedded.directory import locate  # noqa: E402
from gpu_worker.environments import ENVIRONMENTS  # noqa: E402

PEERS = BENCH / ".peers"
REQUIREMENTS = BENCH / "requirements-peers.txt"
TOLERANCE = 1e-4
"""Largest difference of a log-probability between the two sides."""
BARS = {"grpo-step": 3.0}
"""How many times faster than the peer the worst pair must be."""
PEER_THREADS = (1, 2)
PEER_MICRO_BATCHES = (128, 32)


def main() -> None:
    asked = arguments()
    peer = peer_python()
    with tempfile.TemporaryDirectory() as directory:
        work = workload(asked)
        agreement = gate(work, Path(directory), peer)
        settings, tried = fastest_settings(replace(work, steps=2), Path(directory), peer)
        pairs = measure(work, Path(directory), peer, settings, asked.pairs)
    result = summary(asked.bar, pairs) | {
        "gate": agreement,
        "theirs_at": settings,
        "theirs_tried": tried,
        "load": os.getloadavg()[0],
    }
    print(table(pairs, result))
    if asked.json:
        print(json.dumps(result))
    sys.exit(0 if result["met"] else 1)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("bar", choices=BARS)
    parser.add_argument("--pairs", type=int, default=5, help="how often both sides run")
    parser.add_argument("--steps", type=int, default=4, help="timed steps in each run, after one to warm up")
    parser.add_argument("--prompts", type=int, default=16, help="prompts a step")
    parser.add_argument("--group", type=int, default=8, help="tries at each prompt")
    parser.add_argument("--max-tokens", type=int, default=64, help="tokens an answer may have")
    parser.add_argument("--model", default="embedded", help="a model directory")
    parser.add_argument("--json", action="store_true", help="end with one line of JSON")
    return parser.parse_args()


def peer_python() -> Path:
    """The interpreter of the peer's environment, which is made when it is not there or out of date."""
    python, stamp = PEERS / "bin" / "python", PEERS / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != REQUIREMENTS.read_text():
        print("Installing the peer into bench/.peers …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", PEERS], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", REQUIREMENTS], check=True)
        stamp.write_text(REQUIREMENTS.read_text())
    return python


def workload(asked: argparse.Namespace) -> Workload:
    """Single-turn order-desk prompts, as many as the timed steps and the warm-up take."""
    directory = locate(asked.model)
    desk, chat = ENVIRONMENTS["order_desk"], Chat(directory)
    system = {"role": "system", "content": desk.system_prompt}
    prompts = [
        chat.render([system, *scenario.messages], [tool.spec for tool in desk.tools(scenario)])
        for scenario in desk.scenarios("train", asked.prompts * (asked.steps + 1), 0)
    ]
    return Workload(
        model=str(directory),
        prompts=tuple(prompts),
        prompts_per_step=asked.prompts,
        group_size=asked.group,
        max_tokens=asked.max_tokens,
        warm_up=1,
        steps=asked.steps,
    )


def run_side(python: Path | str, script: str, *arguments: str | Path) -> Any:
    """What a side prints last, as JSON. Its own complaints go to standard error."""
    command = [str(python), str(BENCH / script), *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{script} failed with status {done.returncode}; what it said is above.")
    return json.loads(done.stdout.strip().rpartition("\n")[2])


def gate(work: Workload, directory: Path, peer: Path) -> dict[str, float]:
    """Largest differences between the sides on the same answers. Ends the program when they do not agree."""
    path, samples_path = directory / "gate.json", directory / "samples.json"
    work.write(path)
    samples = run_side(sys.executable, "grpo_step.py", path, "--samples")
    samples_path.write_text(json.dumps(samples))
    theirs = run_side(peer, "trl_step.py", path, "--logprobs", samples_path)
    if any(ours["prompt_ids"] != their["prompt_ids"] for ours, their in zip(samples, theirs, strict=True)):
        sys.exit("The sides do not read the same prompt from the same text; nothing was timed.")
    agreement = {side: _difference(samples, theirs, side) for side in ("sampled", "learned")}
    if max(agreement.values()) > TOLERANCE:
        sys.exit(f"Log-probabilities differ by more than {TOLERANCE}: {agreement}; nothing was timed.")
    return agreement


def _difference(samples: list[dict[str, Any]], theirs: list[dict[str, Any]], side: str) -> float:
    return max(
        abs(a - b)
        for ours, their in zip(samples, theirs, strict=True)
        for a, b in zip(ours[side], their["logprobs"], strict=True)
    )


def fastest_settings(
    work: Workload, directory: Path, peer: Path
) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """The peer's best settings for this workload, and the seconds of a step at each of them."""
    path = directory / "tried.json"
    work.write(path)
    sizes = sorted({min(size, work.tries) for size in PEER_MICRO_BATCHES})
    tried = []
    for threads, size in itertools.product(PEER_THREADS, sizes):
        settings = {"threads": threads, "micro_batch": size}
        told = run_side(peer, "trl_step.py", path, json.dumps(settings))
        tried.append(settings | {"seconds": round(statistics.median(told["seconds"]), 3)})
    best = min(tried, key=lambda one: one["seconds"])
    return {key: int(best[key]) for key in ("threads", "micro_batch")}, tried


def measure(
    work: Workload, directory: Path, peer: Path, settings: dict[str, int], count: int
) -> list[dict[str, float]]:
    """Ours, theirs, ours, theirs …: the median step of each run, with the tokens it sampled."""
    path = directory / "workload.json"
    work.write(path)
    pairs = []
    for _ in range(count):
        ours = run_side(sys.executable, "grpo_step.py", path)
        theirs = run_side(peer, "trl_step.py", path, json.dumps(settings))
        pair = {
            "ours_s": statistics.median(ours["seconds"]),
            "theirs_s": statistics.median(theirs["seconds"]),
        }
        pair |= {"ratio": pair["theirs_s"] / pair["ours_s"]}
        pair |= {
            "our_tokens": statistics.mean(ours["tokens"]),
            "their_tokens": statistics.mean(theirs["tokens"]),
        }
        pairs.append(pair)
    return pairs


def summary(bar: str, pairs: list[dict[str, float]]) -> dict[str, Any]:
    ratios = [pair["ratio"] for pair in pairs]
    return {
        "bar": bar,
        "must": BARS[bar],
        "met": min(ratios) >= BARS[bar],
        "median_ratio": round(statistics.median(ratios), 2),
        "worst_ratio": round(min(ratios), 2),
        "ours_s": round(statistics.median(pair["ours_s"] for pair in pairs), 3),
        "theirs_s": round(statistics.median(pair["theirs_s"] for pair in pairs), 3),
        "our_tokens": round(statistics.mean(pair["our_tokens"] for pair in pairs)),
        "their_tokens": round(statistics.mean(pair["their_tokens"] for pair in pairs)),
        "pairs": len(pairs),
    }


def table(pairs: list[dict[str, float]], result: dict[str, Any]) -> str:
    rows = ["pair   ours s   TRL s   times faster   tokens ours / TRL"]
    for number, pair in enumerate(pairs, start=1):
        rows.append(
            f"{number:4d} {pair['ours_s']:8.3f} {pair['theirs_s']:7.3f} {pair['ratio']:14.2f}"
            f"   {pair['our_tokens']:.0f} / {pair['their_tokens']:.0f}"
        )
    verdict = "met" if result["met"] else "not met"
    rows.append(
        f"{result['bar']}: median {result['median_ratio']}×, worst {result['worst_ratio']}×; "
        f"{result['must']}× {verdict}. TRL at {result['theirs_at']}; load {result['load']:.2f}."
    )
    return "\n".join(rows)


if __name__ == "__main__":
    main()
