"""A judge asked again about a recorded group: another judge, another rubric, the other way round, once more.

Nothing of it touches the run. Answers are never taken from the disk, or repeat stability would be that of the
disk; what was asked once stands in a row and is not asked again.
"""

from dataclasses import asdict

from django.contrib.auth.models import User
from django.utils.translation import gettext as _

from gpu_worker.types import Group, Scenario
from judging.llm import Model
from judging.ruler import Judgement, judge_group
from training import models
from training.judges import stored
from training.judges.lab.questions import Question
from training.judges.lab.sources import sha256_of
from training.models import JudgeTrial
from training.runs.rows import LONGEST_LINE, clean, plain


def recorded(row: models.Group) -> Group:
    """A group as a judge reads it, with what checks and environment said of it."""
    scenarios = stored.scenarios_of(row.run)
    known = Scenario(row.scenario_key, "train", (), rubric=row.rubric)
    return stored.group_of(row, {row.scenario_key: known} | scenarios, scored=True)


async def asked(question: Question, group: Group, model: Model) -> Judgement:
    """A scenario's own rubric goes before the one on trial, as it does in a run."""
    return await judge_group(
        group,
        model=model,
        rubric=group.scenario.rubric or question.rubric,
        seed=f"lab/{question.group_id}",
        flipped=question.flipped,
    )


def keep(owner: User, question: Question, group: Group, judgement: Judgement) -> JudgeTrial:
    row = _row(owner, question)
    indexes = [trajectory.index for trajectory in group.trajectories]
    row.positions = [[indexes[place] for place in panel] for panel in judgement.shown]
    row.scores = {
        str(index): [score.value, clean(score.explanation)[:LONGEST_LINE]]
        for index, score in zip(indexes, judgement.scores, strict=True)
    }
    row.judging = plain(asdict(judgement.judging))
    return _in_place(row)


def keep_failure(owner: User, question: Question, failed: Exception) -> JudgeTrial:
    row = _row(owner, question)
    row.error = clean(str(failed))[:LONGEST_LINE] or _("The judge did not answer in time.")
    return _in_place(row)


def _row(owner: User, question: Question) -> JudgeTrial:
    return JudgeTrial(
        owner=owner,
        group_id=question.group_id,
        judge_model=question.judge_model,
        rubric=question.rubric,
        rubric_sha256=sha256_of(question.rubric),
        order=question.order,
        repeat=question.repeat,
    )


def _in_place(row: JudgeTrial) -> JudgeTrial:
    """A failure that was asked again is not kept beside the answer."""
    JudgeTrial.objects.filter(
        owner=row.owner_id,
        group=row.group_id,
        judge_model=row.judge_model,
        rubric_sha256=row.rubric_sha256,
        order=row.order,
        repeat=row.repeat,
    ).exclude(error="").delete()
    row.save()
    return row
