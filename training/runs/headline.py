"""A finished run in numbers: held-out success before and after, how sure that is, and what it took."""

from typing import Any

from gpu_worker.types import Summary
from training.models import Evaluation, Run
from training.runs import budget
from training.runs.intervals import paired_difference


def of(run: Run, summary: Summary) -> dict[str, Any]:
    """What Run.summary holds once a run is done. The difference is in percentage points of success."""
    before, after = (_latest(run, label) for label in ("baseline", "trained"))
    return {
        "baseline": _shown(before),
        "trained": _shown(after),
        "difference": _difference(before, after),
        "seconds": round(summary.seconds, 1),
        "steps": summary.steps,
        "trajectories": summary.trajectories,
        "weights_sha256": summary.weights_sha256,
        "foretold": _foretold(run, summary),
    }


def _foretold(run: Run, summary: Summary) -> dict[str, Any] | None:
    """The estimate of the start held against the truth; None for a run that had no estimate."""
    if not run.estimate:
        return None
    low, high = run.estimate["seconds"]
    return {
        **{name: run.estimate[name] for name in ("seconds", "dollars", "tries")},
        "truth": {
            "seconds": round(summary.seconds, 1),
            "tries": summary.trajectories,
            "dollars": round(budget.spent(run), 6),
        },
        "inside": low <= summary.seconds <= high,
    }


def _latest(run: Run, label: str) -> Evaluation | None:
    return run.evaluations.filter(label=label).order_by("-step").first()


def _shown(evaluation: Evaluation | None) -> dict[str, float] | None:
    if evaluation is None:
        return None
    return {
        "success": round(evaluation.success, 4),
        "reward": round(evaluation.reward, 4),
        "n": evaluation.count,
    }


def _difference(before: Evaluation | None, after: Evaluation | None) -> dict[str, float] | None:
    """The paired 95 % interval over the scenarios that both evaluations played."""
    if before is None or after is None:
        return None
    earlier = {key: success for key, success, _ in before.outcomes}
    pairs = [(earlier[key], success) for key, success, _ in after.outcomes if key in earlier]
    low, high = paired_difference(pairs)
    return {"low": round(100 * low, 1), "high": round(100 * high, 1)}
