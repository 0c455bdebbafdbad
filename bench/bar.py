"""The vocabulary of the bars: what a bar is, what a side is asked to run, and what came out.

A bar compares one figure of two sides, measured in turn, or holds one figure of ours against a number.
How sides are run is `measure.py`'s business, which bars there are is said in `bars/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Setting = Mapping[str, Any]
"""One way to run a peer, such as {"threads": 2, "dtype": "bfloat16"}; handed to it as JSON."""


class Void(Exception):
    """The sides do not agree, so there is nothing to time; the text says on what."""


class NotRun(Exception):
    """The bar could not be run here; the text says why. It never counts as met."""


@dataclass(frozen=True)
class Command:
    """`python -m module *arguments`, run from the root of the repository in a fresh process.

    `peer` names the environment (a section of requirements-peers.txt); "" is ArtWeb's own.
    """

    module: str
    arguments: tuple[str, ...] = ()
    peer: str = ""
    timeout: float = 900.0
    """Seconds after which the side counts as hung."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables besides the present ones, such as OMP_NUM_THREADS."""


@dataclass(frozen=True)
class Work:
    """What a bar's functions are given: a directory of their own, and the bar's options as asked for."""

    directory: Path
    options: Mapping[str, int] = field(default_factory=dict)
    run: Callable[[Command], dict[str, Any]] = field(default=lambda command: {}, repr=False)
    """Runs a command (for gates) and returns what it printed last; raises NotRun when it fails."""


Ours = Callable[[Work, int], Command]
Theirs = Callable[[Work, int, Setting], Command]
"""The command of a side for pair 0, 1, …; it prints {"figure": number, …} last, and the rest is kept."""


@dataclass(frozen=True)
class Bar:
    id: str
    title: str
    unit: str
    """What a side's figure is: "s", "tokens/s", "MB"."""
    must: float
    aim: float
    ours: Ours
    theirs: Theirs | None = None
    settings: tuple[Setting, ...] = ({},)
    """Ways to run the peer; each is tried once, and the best is measured. A quick try takes the first."""
    peer: str = ""
    """The peer by name and version, for people: "TRL GRPOTrainer 1.16.0"."""
    needs: tuple[str, ...] = ()
    """Environments (sections of requirements-peers.txt) that must be there."""
    smaller: bool = True
    """Whether a smaller figure is the better one."""
    score: Literal["times", "share", "own"] = "times"
    """How many times better than the peer (at least `must`), our share of the peer's figure (at most), or
    our own figure (at most, or at least where larger is better)."""
    by: Literal["worst", "median"] = "worst"
    """Which pair must meet the bar."""
    prepare: Callable[[Work], None] | None = None
    """Writes what both sides are given into work.directory."""
    gate: Callable[[Work], dict[str, Any]] | None = None
    """What the sides must agree on before anything is timed: returns the figures, raises Void."""
    options: Mapping[str, int] = field(default_factory=dict)
    """Numbers a person may set on the command line (`--steps 8`), with what they are otherwise."""
    small: Mapping[str, int] = field(default_factory=dict)
    """Options of a quick try (`--small`), whose result is shown and not kept."""
    search: Mapping[str, int] = field(default_factory=dict)
    """Options while the peer's settings are tried."""
    pairs: int | None = None
    """How many pairs there are whatever is asked for: seeds that belong to the bar."""
    cuda: bool = False
    """Whether the figures count on a CUDA device only; elsewhere the bar just shows that it starts."""

    @property
    def bound(self) -> str:
        """The bar in words: "≥ 6×", "≤ 0.35 of the peer's", "≤ 90 s"."""
        if self.score == "times":
            return f"≥ {self.must:g}×"
        if self.score == "share":
            return f"≤ {self.must:g} of the peer's"
        return f"{'≤' if self.smaller else '≥'} {self.must:g} {self.unit}".rstrip()


@dataclass(frozen=True)
class Pair:
    """One run of each side, one after the other. `load` is what other programs used meanwhile, in cores."""

    ours: float
    theirs: float | None
    load: float
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What became of a bar; `state` is "met", "not met", or a sentence that says why there is no verdict."""

    bar: str
    state: str
    pairs: tuple[Pair, ...] = ()
    setting: Setting = field(default_factory=dict)
    tried: tuple[Mapping[str, Any], ...] = ()
    gate: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, int] = field(default_factory=dict)
