"""What the Endpoint page and the offer on a finished run show: names, scores, keys, requests to paste."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import QuerySet

from training.models import ApiKey, Checkpoint, Deployment, Evaluation, Run, RunScenarios
from training.serving.services import trained_checkpoint
from training.serving.snippets import Snippets, snippets

ANY_QUESTION = [{"role": "user", "content": "Hello!"}]


@dataclass(frozen=True)
class Step:
    """A checkpoint one may choose, with its success on unseen scenarios where it was measured."""

    checkpoint: Checkpoint
    success: float | None


@dataclass(frozen=True)
class Name:
    """A deployment as one row: where it points, and the steps of the same run it may be moved to."""

    deployment: Deployment
    success: float | None
    steps: list[Step]


@dataclass(frozen=True)
class Offer:
    """A way to ask a model: its name, the address, and requests to paste."""

    model: str
    base_url: str
    snippets: Snippets


def names_of(owner: User) -> list[Name]:
    deployments = Deployment.objects.filter(owner=owner).select_related("checkpoint__run").order_by("alias")
    steps = steps_of(owner)
    measured = _measured(owner)
    return [
        Name(
            deployment,
            measured.get((deployment.checkpoint.run_id, deployment.checkpoint.step)),
            [step for step in steps if step.checkpoint.run_id == deployment.checkpoint.run_id],
        )
        for deployment in deployments
    ]


def steps_of(owner: User) -> list[Step]:
    """The checkpoints this person may deploy: files kept, run over; newest run and step first."""
    checkpoints = Checkpoint.objects.filter(run__owner=owner, run__state__in=Run.OVER, kept=True)
    measured = _measured(owner)
    return [
        Step(checkpoint, measured.get((checkpoint.run_id, checkpoint.step)))
        for checkpoint in checkpoints.select_related("run").order_by("-run_id", "-step")
    ]


def _measured(owner: User) -> dict[tuple[int, int], float]:
    """Success by run and step; the final evaluation counts before a validation of the same step."""
    rows = Evaluation.objects.filter(run__owner=owner, label__in=("validation", "trained"))
    by_label = rows.order_by("-label").values_list("run_id", "step", "success")  # validation, then trained
    return {(run_id, step): success for run_id, step, success in by_label}


def keys_of(owner: User) -> QuerySet[ApiKey]:
    """The keys of this person that still work, newest first."""
    return ApiKey.objects.filter(owner=owner, revoked_at=None).order_by("-created_at", "-pk")


def offer_of_run(run: Run, *, base_url: str, key: str | None = None) -> Offer | None:
    """How to talk to what a run made; None while there is nothing to talk to."""
    deployment = run.owner.deployments.filter(checkpoint__run=run, checkpoint__kept=True).first()
    checkpoint = trained_checkpoint(run)
    if deployment is None and checkpoint is None:
        return None
    model = deployment.alias if deployment else f"{run.name}@{checkpoint.step}"  # type: ignore[union-attr]
    return _offer(model, run, base_url, key)


def offer_of_owner(owner: User, *, base_url: str, key: str | None = None) -> Offer | None:
    """The same for the newest deployment, as the page's example."""
    deployments = Deployment.objects.filter(owner=owner, checkpoint__kept=True)
    newest = deployments.select_related("checkpoint__run").order_by("-pk").first()
    return _offer(newest.alias, newest.checkpoint.run, base_url, key) if newest else None


def _offer(model: str, run: Run, base_url: str, key: str | None) -> Offer:
    messages = _question(run)
    return Offer(model, base_url, snippets(base_url=base_url, model=model, messages=messages, key=key))


def _question(run: Run) -> list[dict[str, Any]]:
    """What a scenario of the run asks that it never practised on."""
    frozen = RunScenarios.objects.filter(run=run).first()
    held_out = (scenario for scenario in frozen.values if scenario["split"] == "test") if frozen else iter(())
    scenario = next(held_out, None)
    return list(scenario["messages"]) if scenario else ANY_QUESTION
