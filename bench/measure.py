"""Runs the sides of a bar in fresh processes: gate, the peer's best setting, then pairs A B A B.

Both sides get the same cores. What other programs used of the machine meanwhile is measured beside every
pair, because a figure from a busy machine means little.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import peers
from bench.bar import Bar, Command, NotRun, Outcome, Pair, Setting, Void, Work

ROOT = Path(__file__).resolve().parent.parent
CORES = 2
"""Cores both sides are pinned to."""
QUIET = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "PYTHONWARNINGS": "ignore",
}

SELF_CHECK = "self-check only: no CUDA device"
"""The state of a bar for CUDA whose programs ran on small shapes here, which says only that they start."""


def measured(bar: Bar, *, pairs: int, small: bool, options: Mapping[str, int]) -> Outcome:
    """The bar's outcome; a peer that cannot be run or sides that do not agree are an outcome, too."""
    device = cuda_device() if bar.cuda else ""
    small = small or (bar.cuda and not device)
    chosen = dict(bar.options) | (dict(bar.small) if small else {}) | dict(options)
    count = 1 if small else bar.pairs or pairs
    with tempfile.TemporaryDirectory(prefix=f"bench-{bar.id}-") as directory:
        work = Work(Path(directory), chosen, run)
        try:
            outcome = _measured(bar, work, count, hurried=small)
            return outcome if device or not bar.cuda else Outcome(bar.id, SELF_CHECK, options=chosen)
        except Void as why:
            return Outcome(bar.id, f"void: {why}", options=chosen)
        except NotRun as why:
            return Outcome(bar.id, f"not run: {why}", options=chosen)


def _measured(bar: Bar, work: Work, count: int, *, hurried: bool) -> Outcome:
    for name in bar.needs:
        peers.python_of(name)
    if bar.prepare:
        bar.prepare(work)
    agreed = bar.gate(work) if bar.gate else {}
    setting, tried = (bar.settings[0], []) if hurried else best_setting(bar, work)
    pairs = []
    for number in range(count):
        pairs.append(_pair(bar, work, number, setting))
        _say(bar, f"pair {number + 1} of {count}: {_shown(bar, pairs[-1])}")
    state = "met" if is_met(bar, pairs) else "not met"
    return Outcome(bar.id, state, tuple(pairs), setting, tuple(tried), agreed, work.options)


def cuda_device() -> str:
    """The name of the CUDA device, asked in a process of its own; "" where there is none."""
    return str(run(Command("bench.sides.device"))["name"])


def best_setting(bar: Bar, work: Work) -> tuple[Setting, list[dict[str, Any]]]:
    """The peer's best setting for this work, and its figure at each of them; one that fails is left out."""
    if bar.theirs is None or len(bar.settings) == 1:
        return (bar.settings[0] if bar.theirs else {}), []
    tried: list[dict[str, Any]] = []
    shorter = replace(work, options=dict(work.options) | dict(bar.search))
    for setting in bar.settings:
        try:
            figure: Any = figure_of(run(bar.theirs(shorter, 0, setting)))
        except NotRun as why:
            figure = str(why)
        tried.append({"setting": dict(setting), "figure": figure})
        _say(bar, f"the peer at {json.dumps(dict(setting))}: {figure} {bar.unit}")
    ran = [one for one in tried if not isinstance(one["figure"], str)]
    if not ran:
        raise NotRun(f"the peer failed at every setting; the last: {tried[-1]['figure']}")
    best = (min if bar.smaller else max)(ran, key=lambda one: one["figure"])
    return best["setting"], tried


def _pair(bar: Bar, work: Work, number: int, setting: Setting) -> Pair:
    before, watch = os.getloadavg()[0], OthersLoad()
    ours = run(bar.ours(work, number))
    theirs = run(bar.theirs(work, number, setting)) if bar.theirs else None
    details = {
        "ours": _rest(ours),
        "load_before": round(before, 2),
        "load_after": round(os.getloadavg()[0], 2),
    }
    if theirs is not None:
        details["theirs"] = _rest(theirs)
    return Pair(figure_of(ours), None if theirs is None else figure_of(theirs), watch.cores(), details)


def figure_of(told: Mapping[str, Any]) -> float:
    figure = told.get("figure")
    if not isinstance(figure, int | float):
        raise NotRun(f"a side printed no figure: {str(told)[:200]}")
    return float(figure)


def _rest(told: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in told.items() if key != "figure"}


def run(command: Command) -> dict[str, Any]:
    """What a side prints last, as JSON. What it says on standard error is shown as it comes."""
    python = str(peers.python_of(command.peer)) if command.peer else sys.executable
    environment = os.environ | QUIET | {"PYTHONPATH": str(ROOT)} | dict(command.environment)
    with _pinned():
        try:
            done = subprocess.run(
                [python, "-m", command.module, *command.arguments],
                cwd=ROOT,
                env=environment,
                stdout=subprocess.PIPE,
                text=True,
                timeout=command.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise NotRun(f"{command.module} took more than {command.timeout:g} s") from None
    if done.returncode:
        raise NotRun(f"{command.module} failed with status {done.returncode}; what it said is above")
    last = done.stdout.strip().rpartition("\n")[2]
    try:
        told = json.loads(last)
    except ValueError:
        raise NotRun(f"{command.module} ended with {last[:200]!r} and not with JSON") from None
    return dict(told)


@contextmanager
def _pinned() -> Iterator[None]:
    """Children inherit the first cores this process may use; afterwards it may use all of its own again."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(allowed)[:CORES]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


class OthersLoad:
    """How many cores other programs kept busy since this was made: the machine's time less our children's."""

    def __init__(self) -> None:
        self.busy, self.own, self.at = _busy_seconds(), _children_seconds(), time.monotonic()

    def cores(self) -> float:
        """0.0 where the machine does not tell (no /proc)."""
        passed = time.monotonic() - self.at
        others = (_busy_seconds() - self.busy) - (_children_seconds() - self.own)
        return round(max(0.0, others / passed), 2)


def _busy_seconds() -> float:
    try:
        first = Path("/proc/stat").read_text().partition("\n")[0]
    except OSError:
        return 0.0
    user, nice, system, _, _, irq, soft, *_ = map(int, first.split()[1:])
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def scores(bar: Bar, pairs: list[Pair] | tuple[Pair, ...]) -> list[float]:
    """One number a pair: times better, share of the peer's figure, or our own figure."""
    return [_score(bar, pair) for pair in pairs]


def _score(bar: Bar, pair: Pair) -> float:
    if bar.score == "own" or pair.theirs is None:
        return pair.ours
    if bar.score == "share":
        return pair.ours / pair.theirs
    return pair.theirs / pair.ours if bar.smaller else pair.ours / pair.theirs


def at_least(bar: Bar) -> bool:
    """Whether the score must reach `must` (or must stay below it)."""
    return bar.score == "times" or (bar.score == "own" and not bar.smaller)


def worst(bar: Bar, values: list[float]) -> float:
    return min(values) if at_least(bar) else max(values)


def is_met(bar: Bar, pairs: list[Pair] | tuple[Pair, ...]) -> bool:
    """Whether the pair that counts (the worst, or the median where the bar says so) reaches `must`."""
    values = scores(bar, pairs)
    counts = worst(bar, values) if bar.by == "worst" else statistics.median(values)
    return counts >= bar.must if at_least(bar) else counts <= bar.must


def _shown(bar: Bar, pair: Pair) -> str:
    theirs = "" if pair.theirs is None else f", peer {pair.theirs:.4g}"
    score = f", {_score(bar, pair):.3g} {'×' if bar.score == 'times' else 'of it'}" if theirs else ""
    return f"ours {pair.ours:.4g}{theirs} {bar.unit}{score}; others used {pair.load:.2f} cores"


def _say(bar: Bar, text: str) -> None:
    print(f"{bar.id}: {text}", file=sys.stderr, flush=True)
