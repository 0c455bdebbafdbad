"""Who can be compared: the untrained model, checkpoints that are kept, models of any provider.

A contender is plain data in `Comparison.contenders`. How an outside model is reached is known only where it
is played (playing.py): keys are opened there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.utils.translation import gettext as _

from training.models import Checkpoint, Comparison, Evaluation, Run

BASE = "base"


@dataclass(frozen=True)
class Contender:
    """`step` is a checkpoint's, `model` an outside model's name. The last two are how it is played."""

    key: str
    kind: str
    step: int = 0
    model: str = ""
    temperature: float = 1.0
    max_tokens: int = 0
    """Tokens of one of its turns; 0 is the run's own limit."""

    @property
    def outside(self) -> bool:
        return self.kind == "model"

    @property
    def title(self) -> str:
        if self.kind == "base":
            return _("Untrained model")
        return self.model if self.outside else _("Checkpoint of step %(step)s") % {"step": self.step}

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"title": self.title}


@dataclass(frozen=True)
class Own:
    """A checkpoint that can be chosen. `success` is what it reached in the run's own evaluation."""

    key: str
    step: int
    best: bool
    newest: bool
    success: float | None


def base() -> Contender:
    return Contender(BASE, "base")


def checkpoint(step: int) -> Contender:
    return Contender(f"step-{step}", "checkpoint", step=step)


def outsiders(models: Sequence[str]) -> list[Contender]:
    """Outside models, each once."""
    names = dict.fromkeys(filter(None, (name.strip() for name in models)))
    return [Contender(f"model-{number}", "model", model=name) for number, name in enumerate(names, 1)]


def of(comparison: Comparison) -> list[Contender]:
    """The contenders of a comparison, as they were chosen; the first is the one others are held against."""
    return [_read(told) for told in comparison.contenders]


def own(run: Run) -> list[Own]:
    """Checkpoints whose files are kept, the newest first."""
    kept = list(Checkpoint.objects.filter(run=run, kept=True, step__gt=0).order_by("-step"))
    evaluations = Evaluation.objects.filter(run=run, label__in=("validation", "trained")).order_by("label")
    reached = {row.step: row.success for row in evaluations.only("step", "success")}
    tried = [row.step for row in kept if row.step in reached]
    best = max(tried, key=lambda step: (reached[step], -step), default=None)
    return [
        Own(
            key=f"step-{row.step}",
            step=row.step,
            best=row.step == best,
            newest=row is kept[0],
            success=reached.get(row.step),
        )
        for row in kept
    ]


def _read(told: Mapping[str, Any]) -> Contender:
    fields = ("key", "kind", "step", "model", "temperature", "max_tokens")
    return Contender(**{name: told[name] for name in fields if told.get(name) is not None})
