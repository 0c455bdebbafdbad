"""Where a run stands between two steps, as the JSON that its checkpoint carries.

Everything the loop must know to go on as if nothing had happened; weights, optimizer and random state
are the trainer's and lie beside it.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from gpu_worker.types import CheckpointFile, Evaluation, Outcome, StepDone


@dataclass(frozen=True)
class Position:
    """The run after `step` training steps."""

    step: int = 0
    curriculum: dict[str, Any] = field(default_factory=dict)
    """What `Curriculum.to_json` says of the scenarios drawn so far; empty when none were."""
    trajectories: int = 0
    """Tries played so far, evaluations included."""
    seconds: float = 0.0
    baseline: Evaluation | None = None
    best: tuple[int, float] | None = None
    """Step and success of the best validation so far."""
    report: StepDone | None = None
    """What was, or is yet to be, recorded of the last step."""

    def to_json(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "curriculum": self.curriculum,
            "trajectories": self.trajectories,
            "seconds": self.seconds,
            "baseline": self.baseline and _evaluation_json(self.baseline),
            "best": self.best and list(self.best),
            "report": self.report
            and {
                "metrics": self.report.metrics,
                "advantages": {str(group): list(a) for group, a in self.report.advantages.items()},
            },
        }

    @classmethod
    def from_json(cls, state: dict[str, Any], checkpoint: CheckpointFile) -> "Position":
        """The position in a verified checkpoint's state.json."""
        baseline, best, report = state["baseline"], state["best"], state["report"]
        return cls(
            step=state["step"],
            curriculum=state["curriculum"],
            trajectories=state["trajectories"],
            seconds=state["seconds"],
            baseline=baseline and _evaluation(baseline),
            best=best and (best[0], best[1]),
            report=report
            and StepDone(
                step=state["step"],
                metrics=report["metrics"],
                advantages={int(group): tuple(a) for group, a in report["advantages"].items()},
                checkpoint=checkpoint,
            ),
        )

    def with_validation(self, evaluation: Evaluation) -> "Position":
        """With note of a validation: which step was best (the earlier of equals), and its tries."""
        known = self.best
        better = known is None or evaluation.success > known[1]
        best = (evaluation.step, evaluation.success) if better else known
        return replace(self, best=best, trajectories=self.trajectories + len(evaluation.outcomes))


def _evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "label": evaluation.label,
        "step": evaluation.step,
        "split": evaluation.split,
        "outcomes": [[o.scenario_id, o.success, o.reward] for o in evaluation.outcomes],
    }


def _evaluation(value: dict[str, Any]) -> Evaluation:
    outcomes = tuple(Outcome(*outcome) for outcome in value["outcomes"])
    return Evaluation(value["label"], value["step"], value["split"], outcomes)
